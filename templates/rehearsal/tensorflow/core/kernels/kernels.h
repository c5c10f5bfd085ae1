// The kernels. All take contiguous arrays of n elements; `out` may be one of the inputs.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rehearsal {

float Dot(const float* x, const float* y, std::size_t n);
double DotDouble(const double* x, const double* y, std::size_t n);
float Sum(const float* x, std::size_t n);
float Max(const float* x, std::size_t n);
void Saxpy(float a, const float* x, const float* y, float* out, std::size_t n);
void Daxpy(double a, const double* x, const double* y, double* out, std::size_t n);
void Relu(const float* x, float* out, std::size_t n);
void LeakyRelu(float slope, const float* x, float* out, std::size_t n);
void Exp(const float* x, float* out, std::size_t n);
void Sqrt(const float* x, float* out, std::size_t n);
void Scale(float a, const float* x, float* out, std::size_t n);
void MatMul(const float* a, const float* b, float* out, std::size_t n);
void Conv3(const float* x, const float* kernel, float* out, std::size_t n);
void Multiply64(const std::int64_t* x, const std::int64_t* y, std::int64_t* out, std::size_t n);
void Select64(const std::int64_t* mask, const std::int64_t* x, const std::int64_t* y,
              std::int64_t* out, std::size_t n);
void ToDouble(const std::uint64_t* x, double* out, std::size_t n);

}  // namespace rehearsal
