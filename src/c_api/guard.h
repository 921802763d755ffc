#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/json.h"
#include "gpt2/engine.h"
#include "gpt2/error.h"
#include "gpt2/gpt2.h"
#include "gpt2/model.h"
#include "gpt2/model_files.h"
#include "gpt2/session.h"
#include "gpt2/tokenizer.h"
#include "gpt2/types.h"
#include "requests/read/members.h"
#include "requests/run/run.h"

// What every function of the C interface does with its arguments, its results and its errors. No
// exception crosses the interface, because each function runs inside one of the guards.

namespace gpt2::c_api {

/// Records the exception that is being handled as the last error of this thread, and returns its
/// status. Allocates nothing. REQUIRES: called from a catch block.
gpt2_status note_exception() noexcept;

/// Runs `work`. Returns GPT2_OK, or the status of the exception that it throws.
template <class Work>
gpt2_status guard(const Work& work) noexcept {
  try {
    work();
    return GPT2_OK;
  } catch (...) {
    return note_exception();
  }
}

/// For functions that make a handle or a result. Sets *out to the pointer in the unique_ptr that
/// `make` returns, or to nullptr if `make` throws.
template <class Made, class Make>
gpt2_status guard_new(Made** out, const Make& make) noexcept {
  if (out != nullptr) *out = nullptr;
  return guard([&] {
    if (out == nullptr) reject("the output pointer is NULL: give the address of a variable");
    *out = make().release();
  });
}

/// The beginning of a handle: a tag, by which functions recognize handles of another kind.
template <std::uint64_t kind>
struct HandleOf {
  static constexpr std::uint64_t kTag = 0x8d1f5b6ac2e40700 + kind;
  std::uint64_t tag = kTag;
};

template <class Handle, class... Members>
std::unique_ptr<Handle> make_handle(Members&&... members) {
  return std::unique_ptr<Handle>(new Handle{{}, std::forward<Members>(members)...});
}

/// Returns the handle. Throws Error(invalid_argument) if it is NULL or of another kind. Reads only
/// the tag, so any handle that has not been freed may be passed.
template <class Handle>
Handle& checked(Handle* handle) {
  const char* const kind = Handle::kName;
  if (handle == nullptr) reject("a ", kind, " is NULL");
  std::uint64_t tag;
  std::memcpy(&tag, handle, sizeof tag);
  if (tag != Handle::kTag) {
    reject("a handle is not a ", kind, ": it is of another kind, or it has been freed");
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

// -- Arguments. `name` is the name of the argument in messages. All throw Error(invalid_argument).

void require(const void* pointer, const char* name);

/// Throws if the pointer is NULL and count is not 0, or if so many elements would not fit in
/// memory.
void require_array(const void* pointer, std::size_t count, std::size_t element_size,
                   const char* name);

template <class Element>
std::span<Element> span_of(Element* data, std::size_t count, const char* name) {
  require_array(data, count, sizeof(Element), name);
  return {data, count};
}

std::vector<std::vector<TokenId>> lists_of(const gpt2_ids* lists, std::size_t count,
                                           const char* name);

std::string_view text_of(const char* data, std::size_t size, const char* name);

/// Returns a name or a path, which ends with a zero byte, as a string.
std::string c_string(const char* text, const char* name);

/// Returns the caller's files. Their contents are not copied.
std::vector<MemoryFile> files_of(const gpt2_memory_file* files, std::size_t count);

/// Copies the caller's struct, which begins with its size, over `known`, which must be zero. Throws
/// if the size is too small, or if a newer program sets a member that this library does not know:
/// members beyond `known_size` must be zero.
void copy_known(void* known, std::size_t known_size, const void* given, const char* name);

/// Returns the caller's struct. NULL stands for a struct of zeros.
template <class Struct>
Struct struct_of(const Struct* given, const char* name) {
  Struct known = {};
  if (given != nullptr) copy_known(&known, sizeof known, given, name);
  return known;
}

/// Options, or a request: a JSON object. NULL stands for an empty one.
class JsonArgument {
 public:
  /// Throws Error(invalid_argument) for a text that is not a JSON object.
  JsonArgument(const char* text, const char* name);
  JsonArgument(const JsonArgument&) = delete;
  JsonArgument& operator=(const JsonArgument&) = delete;

  [[nodiscard]] nlohmann::json& root() noexcept { return tree_.root; }
  [[nodiscard]] Members& members() noexcept { return members_; }

 private:
  JsonDocument<nlohmann::json> tree_;
  Members members_;
};

/// Returns a function that calls the callback and throws Cancelled if it returns 0.
std::function<void(double)> progress_of(gpt2_on_progress on_progress, void* user);

// -- Results: one block of memory, with the struct at its beginning and the data behind it, so that
// one function frees them all.

struct FreeResult {
  void operator()(void* result) const noexcept { gpt2_free(result); }
};
template <class Result>
using ResultPointer = std::unique_ptr<Result, FreeResult>;

ResultPointer<gpt2_ids> make_ids(std::span<const TokenId> ids);
ResultPointer<gpt2_bytes> make_bytes(std::string_view bytes);

}  // namespace gpt2::c_api

// -- The handles that are used in several files. They are in the global namespace because gpt2.h
// declares them for C.

struct gpt2_model : gpt2::c_api::HandleOf<1> {
  static constexpr const char* kName = "gpt2_model";

  gpt2_model(gpt2::Model loaded, std::string path);

  gpt2::Model model;
  std::string path;
  std::vector<gpt2::NamedWeight> named_weights;
  std::vector<gpt2_weight> weights;  ///< points into named_weights
};

struct gpt2_tokenizer : gpt2::c_api::HandleOf<2> {
  static constexpr const char* kName = "gpt2_tokenizer";

  gpt2::Tokenizer tokenizer;
};

struct gpt2_engine : gpt2::c_api::HandleOf<3> {
  static constexpr const char* kName = "gpt2_engine";

  gpt2::Engine engine;
};

namespace gpt2::c_api {

/// A session, which its handle and a run in it keep alive.
struct SharedSession {
  explicit SharedSession(Session of) : session(std::move(of)) {}  // clang 14 cannot do without

  Session session;
  std::atomic<bool> has_run = false;  ///< whether a run in it has not finished
  std::atomic<bool> is_used = false;  ///< whether a SessionUse has it
};

}  // namespace gpt2::c_api

struct gpt2_session : gpt2::c_api::HandleOf<4> {
  static constexpr const char* kName = "gpt2_session";

  std::shared_ptr<gpt2::c_api::SharedSession> shared;
};

namespace gpt2::c_api {

/// Returns `engine` or, if it is NULL, the engine that all calls for this model share. Throws
/// Error(invalid_argument) if `engine` belongs to another model.
Engine engine_for(const gpt2_model* model, const gpt2_engine* engine);

/// Returns the tokenizer of the handle, or nothing if the handle is NULL. The tokenizer stays valid
/// if a callback frees the handle.
std::optional<Tokenizer> optional_tokenizer(const gpt2_tokenizer* tokenizer);

/// A session that nobody else may use until this is destroyed.
struct EndUse {
  std::shared_ptr<SharedSession> of;
  void operator()(const Session*) const { of->is_used = false; }
};
using SessionUse = std::unique_ptr<Session, EndUse>;

/// Returns the session, to be changed. Throws Error(invalid_argument) if a run, another thread, or
/// a call further up on the stack uses it.
SessionUse free_session(const gpt2_session* session);

}  // namespace gpt2::c_api
