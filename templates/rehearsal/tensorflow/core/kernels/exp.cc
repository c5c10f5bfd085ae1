#include "tensorflow/core/kernels/kernels.h"
#include "tensorflow/core/tools/coefficients.h"

namespace rehearsal {

// Horner scheme over the generated coefficients: good to 1e-6 for |x| <= 1.
void Exp(const float* x, float* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    float value = kExp[11];
    for (int k = 10; k >= 0; --k) value = value * x[i] + kExp[k];
    out[i] = value;
  }
}

}  // namespace rehearsal
