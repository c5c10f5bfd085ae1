// Writes a header that the kernels include, and a Python module that names the instruction sets
// which the compiler was allowed to use for this very program. A recipe whose target flags reach
// host tools is found out by that list.
#include <cstdio>

namespace {

void Features(std::FILE* out) {
  std::fprintf(out, "# Instruction sets that host tools were compiled for, above the baseline.\n");
  std::fprintf(out, "HOST_TOOLS = (\n");
#ifdef __SSE4_2__
  std::fprintf(out, "    \"sse4_2\",\n");
#endif
#ifdef __AVX__
  std::fprintf(out, "    \"avx\",\n");
#endif
#ifdef __AVX2__
  std::fprintf(out, "    \"avx2\",\n");
#endif
#ifdef __AVX512F__
  std::fprintf(out, "    \"avx512f\",\n");
#endif
#ifdef __ARM_FEATURE_SVE
  std::fprintf(out, "    \"sve\",\n");
#endif
  std::fprintf(out, ")\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::FILE* header = std::fopen(argv[1], "w");
  std::FILE* module = std::fopen(argv[2], "w");
  if (header == nullptr || module == nullptr) return 1;
  // Taylor coefficients 1/k! of the exponential function.
  std::fprintf(header, "#pragma once\nstatic const float kExp[] = {");
  double factorial = 1;
  for (int k = 0; k < 12; ++k) {
    if (k > 0) factorial *= k;
    std::fprintf(header, "%.9ff, ", 1 / factorial);
  }
  std::fprintf(header, "};\n");
  Features(module);
  return std::fclose(header) + std::fclose(module) == 0 ? 0 : 1;
}
