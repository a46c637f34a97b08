// What every kernel file shares. Functions are plain C so that ctypes can call them without a binding layer;
// their whole numbers have 64 bits, those that they return, too.
#pragma once
#include <cstdint>
#if defined(_WIN32)
#define SHOAL_API extern "C" __declspec(dllexport)
#else
#define SHOAL_API extern "C" __attribute__((visibility("default")))
#endif
#if defined(__GNUC__)
#define SHOAL_RESTRICT __restrict__
#else
#define SHOAL_RESTRICT
#endif
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define SHOAL_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SHOAL_CLONES
#endif
