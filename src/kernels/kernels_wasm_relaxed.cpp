#include "kernels/kernels_wasm.cpp"  // compiled with relaxed SIMD
