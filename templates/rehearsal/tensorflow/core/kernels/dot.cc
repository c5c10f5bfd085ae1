#include "tensorflow/core/kernels/kernels.h"

namespace rehearsal {

float Dot(const float* x, const float* y, std::size_t n) {
  float sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace rehearsal
