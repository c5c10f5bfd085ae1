#include "tensorflow/core/kernels/kernels.h"

namespace rehearsal {

// Valid convolution with three weights: n inputs, n - 2 outputs.
void Conv3(const float* x, const float* kernel, float* __restrict out, std::size_t n) {
  const float a = kernel[0], b = kernel[1], c = kernel[2];
  for (std::size_t i = 0; i + 2 < n; ++i) out[i] = a * x[i] + b * x[i + 1] + c * x[i + 2];
}

}  // namespace rehearsal
