#include "tensorflow/core/kernels/kernels.h"

namespace rehearsal {

// One instruction with AVX-512DQ (vcvtuqq2pd).
void ToDouble(const std::uint64_t* x, double* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<double>(x[i]);
}

}  // namespace rehearsal
