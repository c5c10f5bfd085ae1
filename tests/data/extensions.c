/* One function for each instruction set that the compiler announces, and loops that vectorise. */
#include <stddef.h>
#include <stdint.h>
#include <x86intrin.h>

void saxpy(float *restrict y, const float *restrict x, float a, size_t n)
{ for (size_t i = 0; i < n; i++) y[i] += a * x[i]; }
double dot(const double *a, const double *b, size_t n)
{ double s = 0; for (size_t i = 0; i < n; i++) s += a[i] * b[i]; return s; }
int32_t bytes(const uint8_t *a, const int8_t *b, size_t n)
{ int32_t s = 0; for (size_t i = 0; i < n; i++) s += a[i] * b[i]; return s; }
void gather(float *y, const float *x, const int *ix, size_t n)
{ for (size_t i = 0; i < n; i++) y[i] = x[ix[i]]; }
void convert(double *y, const uint64_t *x, size_t n)
{ for (size_t i = 0; i < n; i++) y[i] = x[i]; }
void greatest(int8_t *y, const int8_t *x, size_t n)
{ for (size_t i = 0; i < n; i++) y[i] = x[i] > y[i] ? x[i] : y[i]; }
uint64_t shifted(uint64_t x, int n) { return x << n ^ x >> (n + 1); }
uint64_t leading(uint64_t x) { return __builtin_clzll(x); }
uint64_t without(uint64_t x, uint64_t y) { return x & ~y; }
uint32_t swapped(const uint32_t *x) { return __builtin_bswap32(*x); }

#define USE(name, type, value) type use_##name(type a, type b) { (void)a; (void)b; return value; }
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
int use_cx16(__int128 *p, __int128 a, __int128 b) { return __sync_bool_compare_and_swap(p, a, b); }
#endif
#ifdef __SSE3__
USE(sse3, __m128, _mm_hadd_ps(a, b))
#endif
#ifdef __SSSE3__
USE(ssse3, __m128i, _mm_shuffle_epi8(a, b))
#endif
#ifdef __SSE4_1__
USE(sse4_1, __m128i, _mm_mullo_epi32(a, b))
#endif
#ifdef __SSE4_2__
USE(sse4_2, uint32_t, _mm_crc32_u32(a, b))
#endif
#ifdef __SSE4A__
USE(sse4a, __m128i, _mm_extract_si64(a, b))
#endif
#ifdef __POPCNT__
USE(popcnt, uint32_t, __builtin_popcount(a))
#endif
#ifdef __AES__
USE(aes, __m128i, _mm_aesenc_si128(a, b))
#endif
#ifdef __PCLMUL__
USE(pclmulqdq, __m128i, _mm_clmulepi64_si128(a, b, 0))
#endif
#ifdef __SHA__
USE(sha_ni, __m128i, _mm_sha1nexte_epu32(a, b))
#endif
#ifdef __GFNI__
USE(gfni, __m128i, _mm_gf2p8mul_epi8(a, b))
#endif
#ifdef __XSAVE__
USE(xsave, uint64_t, _xgetbv(0))
#endif
#ifdef __RDRND__
int use_rdrand(unsigned *p) { return _rdrand32_step(p); }
#endif
#ifdef __RDSEED__
int use_rdseed(unsigned *p) { return _rdseed32_step(p); }
#endif
#ifdef __ADX__
uint64_t use_adx(uint64_t a, uint64_t b) { __asm__("adcx %1, %0" : "+r"(a) : "r"(b)); return a; }
#endif
#ifdef __TBM__
USE(tbm, uint64_t, __blcfill_u64(a))
#endif
#ifdef __XOP__
USE(xop, __m128i, _mm_rot_epi32(a, b))
#endif
#ifdef __FMA4__
USE(fma4, __m128, _mm_macc_ps(a, b, a))
#endif
#ifdef __FMA__
USE(fma, __m128, _mm_fmadd_ps(a, b, a))
#endif
#ifdef __F16C__
USE(f16c, __m128i, _mm_cvtps_ph(_mm_castsi128_ps(a), 0))
#endif
#ifdef __AVX2__
USE(avx2, __m256i, _mm256_add_epi32(a, b))
#endif
#ifdef __VAES__
USE(vaes, __m256i, _mm256_aesenc_epi128(a, b))
#endif
#ifdef __VPCLMULQDQ__
USE(vpclmulqdq, __m256i, _mm256_clmulepi64_epi128(a, b, 0))
#endif
#ifdef __AVXVNNI__
USE(avx_vnni, __m256i, _mm256_dpbusd_avx_epi32(a, a, b))
#endif
#ifdef __AVX512CD__
USE(avx512cd, __m512i, _mm512_conflict_epi32(a))
#endif
#ifdef __AVX512BW__
USE(avx512bw, __m512i, _mm512_add_epi8(a, b))
#endif
#ifdef __AVX512DQ__
USE(avx512dq, __m512i, _mm512_mullo_epi64(a, b))
#endif
#ifdef __AVX512VL__
USE(avx512vl, __m256i, _mm256_rol_epi32(a, 3))
#endif
#ifdef __AVX512IFMA__
USE(avx512ifma, __m512i, _mm512_madd52lo_epu64(a, a, b))
#endif
#ifdef __AVX512VBMI__
USE(avx512vbmi, __m512i, _mm512_permutexvar_epi8(a, b))
#endif
#ifdef __AVX512VBMI2__
USE(avx512_vbmi2, __m512i, _mm512_maskz_compress_epi8(7, a))
#endif
#ifdef __AVX512VNNI__
USE(avx512_vnni, __m512i, _mm512_dpbusd_epi32(a, a, b))
#endif
#ifdef __AVX512BITALG__
USE(avx512_bitalg, __m512i, _mm512_popcnt_epi8(a))
#endif
#ifdef __AVX512VPOPCNTDQ__
USE(avx512_vpopcntdq, __m512i, _mm512_popcnt_epi32(a))
#endif
#ifdef __AVX512BF16__
USE(avx512_bf16, __m512i, (__m512i)_mm512_dpbf16_ps((__m512)a, (__m512bh)a, (__m512bh)b))
#endif
#ifdef __AVX512FP16__
USE(avx512_fp16, __m512h, _mm512_add_ph(a, b))
#endif
