#include "tensorflow/core/kernels/kernels.h"

namespace rehearsal {

// Square matrices of n x n, row by row.
void MatMul(const float* a, const float* b, float* out, std::size_t n) {
  for (std::size_t row = 0; row < n; ++row) {
    float* __restrict line = out + row * n;
    for (std::size_t column = 0; column < n; ++column) line[column] = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const float factor = a[row * n + k];
      const float* __restrict source = b + k * n;
      for (std::size_t column = 0; column < n; ++column) line[column] += factor * source[column];
    }
  }
}

}  // namespace rehearsal
