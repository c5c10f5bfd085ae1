#include "tensorflow/core/kernels/kernels.h"

namespace rehearsal {

double DotDouble(const double* x, const double* y, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace rehearsal
