// Defines the C library's allocation functions, counts the calls of all threads, and passes them on
// to the C library. It can also let one of the calls fail, or all from one on. It cannot see memory
// that the C library maps for itself, such as the stack of a new thread. A program must include
// this file in one of its source files only, and cannot be built with sanitizers, because they
// replace the same functions.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <type_traits>

namespace gpt2::test {

inline std::atomic<bool> counting{false};
inline std::atomic<std::size_t> calls{0};
inline std::atomic<std::size_t> failing_call{0};   // 1 is the first call; 0: none fails
inline std::atomic<bool> later_calls_fail{false};  // whether those after failing_call fail, too
inline std::atomic<std::ptrdiff_t> in_use{0};      // the number of allocations that have not been
                                                   // freed

// dlsym may call calloc before it has found calloc. Such calls get memory from this buffer, which
// is never freed.
alignas(64) inline std::byte early_memory[4096];
inline std::size_t early_size = 0;

inline void* early_calloc(std::size_t size) {
  const std::size_t begin = early_size;
  early_size += (size + 63) / 64 * 64;
  return early_size <= sizeof early_memory ? early_memory + begin : nullptr;
}

inline bool is_early(const void* memory) {
  return memory >= early_memory && memory < early_memory + sizeof early_memory;
}

// Returns the C library's own function `name`. F is a function type.
template <class F>
F* look_up(std::atomic<F*>& cached, const char* name) {
  F* function = cached.load();
  if (function == nullptr) {
    function = reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
    cached.store(function);
  }
  return function;
}

// Returns whether the address is in OpenMP's library or in the dynamic linker. An engine starts its
// threads in the background, whenever the system runs them. OpenMP's library and, for the memory of
// each thread, the dynamic linker allocate while they do so, and OpenMP's ends the process if such
// an allocation fails. The library finds out beforehand whether threads can be started, but it
// cannot see these calls. The tests therefore leave them alone.
inline bool starts_threads(const void* caller) {
  struct Range {
    std::uintptr_t begin = 0, end = 0;
  };
  static const auto ranges = [] {
    std::array<Range, 4> found = {};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
          const std::string_view file = info->dlpi_name;
          if (file.find("libgomp") == file.npos && file.find("libomp") == file.npos &&
              file.find("/ld-linux") == file.npos) {
            return 0;
          }
          auto* range = static_cast<Range*>(data);
          while (range->end != 0) ++range;
          range->begin = info->dlpi_addr;
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& part = info->dlpi_phdr[i];
            if (part.p_type != PT_LOAD) continue;
            range->end = std::max(range->end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
          }
          return 0;
        },
        found.data());
    return found;
  }();
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  return std::ranges::any_of(ranges, [at](Range r) { return r.begin <= at && at < r.end; });
}

// Counts a call. Returns whether it is to fail.
inline bool fails_now() {
  const std::size_t call = ++calls;
  return call == failing_call || (later_calls_fail && failing_call != 0 && call > failing_call);
}

// Calls the C library's own function `name` with the arguments, counts the call, which comes from
// the address `caller`, and returns the result or, if this call is to fail, `failure`.
template <class Result, class... Arguments>
Result hook(const void* caller, std::atomic<Result (*)(Arguments...)>& cached, const char* name,
            std::type_identity_t<Result> failure, std::type_identity_t<Arguments>... arguments) {
  if (counting && !starts_threads(caller) && fails_now()) {
    errno = ENOMEM;
    return failure;
  }
  const Result result = look_up(cached, name)(arguments...);
  if (result != failure) ++in_use;
  return result;
}

inline std::atomic<void* (*)(std::size_t)> next_malloc;
inline std::atomic<void*(*)(std::size_t, std::size_t)> next_calloc, next_aligned_alloc,
    next_memalign;
inline std::atomic<void* (*)(void*, std::size_t)> next_realloc;
inline std::atomic<int (*)(void**, std::size_t, std::size_t)> next_posix_memalign;
inline std::atomic<void* (*)(void*, std::size_t, int, int, int, off_t)> next_mmap;
inline std::atomic<int (*)(void*, std::size_t)> next_munmap;
inline std::atomic<void (*)(void*)> next_free;

// Returns how many times `work` allocates. It must not contain Catch's macros, because they
// allocate.
template <class Work>
std::size_t allocations_of(const Work& work) {
  calls = 0;
  counting = true;
  work();
  counting = false;
  return calls;
}

// Waits until no thread has allocated for 20 ms, because an engine starts its threads in the
// background.
inline void wait_for_quiet() {
  for (int quiet = 0; quiet < 20;) {
    quiet = allocations_of([] { usleep(1000); }) == 0 ? quiet + 1 : 0;
  }
}

}  // namespace gpt2::test

extern "C" {

void* malloc(std::size_t size) noexcept {
  using namespace gpt2::test;
  return hook(__builtin_return_address(0), next_malloc, "malloc", nullptr, size);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  using namespace gpt2::test;
  static std::atomic<bool> is_looking{false};
  if (next_calloc.load() == nullptr && is_looking.exchange(true)) return early_calloc(count * size);
  return hook(__builtin_return_address(0), next_calloc, "calloc", nullptr, count, size);
}

void* realloc(void* memory, std::size_t size) noexcept {
  using namespace gpt2::test;
  void* const result =
      hook(__builtin_return_address(0), next_realloc, "realloc", nullptr, memory, size);
  if (memory != nullptr && result != nullptr) --in_use;  // the old memory is free
  return result;
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  using namespace gpt2::test;
  return hook(__builtin_return_address(0), next_aligned_alloc, "aligned_alloc", nullptr, alignment,
              size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  using namespace gpt2::test;
  return hook(__builtin_return_address(0), next_memalign, "memalign", nullptr, alignment, size);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  using namespace gpt2::test;
  return hook(__builtin_return_address(0), next_posix_memalign, "posix_memalign", ENOMEM, memory,
              alignment, size);
}

void* mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) noexcept {
  using namespace gpt2::test;
  return hook(__builtin_return_address(0), next_mmap, "mmap", MAP_FAILED, at, size, protection,
              flags, file, offset);
}

int munmap(void* memory, std::size_t size) noexcept {
  using namespace gpt2::test;
  --in_use;
  return look_up(next_munmap, "munmap")(memory, size);
}

void free(void* memory) noexcept {
  using namespace gpt2::test;
  if (memory == nullptr || is_early(memory)) return;
  --in_use;
  look_up(next_free, "free")(memory);
}

}  // extern "C"
