#pragma once

// The version of these headers, for C++ and C.
//
// Changes between versions:
//   - While the major version is 0, a new minor version may change anything, and the shared library
//     gets another name (its SOVERSION), so that a program never loads an incompatible library. A
//     new patch version changes no declaration.
//   - From 1.0 on, the C interface (gpt2.h) only grows while the major version stays the same. The
//     C++ headers keep compiling within a major version, but programs must be recompiled for
//     each minor version, because classes may grow.
//   - The bits of the logits, and with them the text that a seed gives, change only with a new
//     minor version, and CHANGELOG.md says so.
//   - Anything that no header declares may change at any time.
//
// A program may run with a different version of the library than the one it was compiled with.
// gpt2_version() in gpt2.h returns the version of the library that it runs with.
//
/// Example:
///   #include <gpt2/version.h>
///   #if GPT2_VERSION < 100
///   #error "this program needs gpt2.cpp 0.1.0 or newer"
///   #endif

#define GPT2_VERSION_MAJOR 0
#define GPT2_VERSION_MINOR 1
#define GPT2_VERSION_PATCH 0
#define GPT2_VERSION_STRING "0.1.0"  ///< the three numbers; CMakeLists.txt reads it

/// One number to compare, for example 102 for 0.1.2 and 10203 for 1.2.3.
#define GPT2_VERSION (GPT2_VERSION_MAJOR * 10000 + GPT2_VERSION_MINOR * 100 + GPT2_VERSION_PATCH)
