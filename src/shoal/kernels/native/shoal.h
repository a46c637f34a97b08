// What every kernel file shares. Functions are plain C so that ctypes can call them without a binding layer.
#pragma once
#include <cstdint>
#if defined(_WIN32)
#define SHOAL_API extern "C" __declspec(dllexport)
#else
#define SHOAL_API extern "C" __attribute__((visibility("default")))
#endif
