#pragma once

#include <stdio.h>

// A check for tests in C, which have no framework. CHECK counts and prints the conditions that are
// false. main() returns failures != 0.

static int failures = 0;

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      ++failures;                                                     \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                 \
  } while (0)
