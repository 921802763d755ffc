#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "c_api/guard.h"

// A handle is a struct that begins with a tag, by which functions recognize handles of another
// kind. Each kind of handle defines its own tag, kTag, and its name in messages, kName.

namespace gpt2::c_api {

/// Returns the handle. Throws Error(invalid_argument) if it is NULL or of another kind. Reads only
/// the tag, so any handle that has not been freed may be passed.
template <class Handle>
Handle& checked(Handle* handle) {
  const char* const kind = std::remove_const_t<Handle>::kName;
  if (handle == nullptr) reject(std::string("a ") + kind + " is NULL");
  std::uint64_t tag;
  std::memcpy(&tag, handle, sizeof tag);
  if (tag != std::remove_const_t<Handle>::kTag) {
    reject(std::string("a handle is not a ") + kind +
           ": it is of another kind, or it has been freed");
  }
  return *handle;
}

/// Frees a handle. Does nothing for NULL. For a handle of another kind, frees nothing and sets the
/// last error.
template <class Handle>
void release(Handle* handle) noexcept {
  if (handle == nullptr) return;
  guard([&] { delete &checked(handle); });
}

}  // namespace gpt2::c_api
