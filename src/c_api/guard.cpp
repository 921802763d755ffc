#include "c_api/guard.h"

#include <algorithm>
#include <limits>
#include <new>

#include "base/utf8.h"

namespace gpt2::c_api {
namespace {

// It is thread-local, so that an error can be reported even if no memory is left.
thread_local constinit char last_message[1001] = {};

// Copies the message without line breaks. If it is too long, truncates it between two characters.
// The message of an exception from a callback may be any bytes, even only UTF-8 continuation bytes.
gpt2_status note(gpt2_status status, const char* message) noexcept {
  constexpr std::size_t kMaxLength = sizeof last_message - 1;
  const std::string_view text(message, strnlen(message, kMaxLength + 1));
  const std::size_t length = place_to_cut(text, kMaxLength);
  std::memmove(last_message, message, length);
  last_message[length] = '\0';
  std::replace(last_message, last_message + length, '\n', ' ');
  return status;
}

// An ErrorCode is one less than its status.
static_assert(static_cast<int>(ErrorCode::not_found) + 1 == GPT2_NOT_FOUND);
static_assert(static_cast<int>(ErrorCode::invalid_file) + 1 == GPT2_INVALID_FILE);
static_assert(static_cast<int>(ErrorCode::unsupported) + 1 == GPT2_UNSUPPORTED);
static_assert(static_cast<int>(ErrorCode::invalid_argument) + 1 == GPT2_INVALID_ARGUMENT);

}  // namespace

gpt2_status note_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return note(static_cast<gpt2_status>(error.code()) + 1, error.what());
  } catch (const std::bad_alloc&) {
    return note(GPT2_OUT_OF_MEMORY, "there is not enough memory");
  } catch (const Cancelled&) {
    return note(GPT2_CANCELLED, "cancelled by a callback or by gpt2_run_cancel");
  } catch (const std::exception& error) {
    return note(GPT2_INTERNAL, error.what());
  } catch (...) {
    return note(GPT2_INTERNAL, "an exception of an unknown type");
  }
}

void require(const void* pointer, const char* name) {
  if (pointer == nullptr) reject(name, " is NULL");
}

void require_array(const void* pointer, std::size_t count, std::size_t element_size,
                   const char* name) {
  if (count == 0) return;
  if (pointer == nullptr) reject(name, " is NULL, but its length is ", count);
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / element_size) {
    reject(name, " has the length ", count, ", more than any memory holds");
  }
}

std::vector<std::vector<TokenId>> lists_of(const gpt2_ids* lists, std::size_t count,
                                           const char* name) {
  std::vector<std::vector<TokenId>> result;
  for (const gpt2_ids& list : span_of(lists, count, name)) {
    const std::string item = concat("item ", result.size(), " of ", name);
    const auto ids = span_of(list.data, list.count, item.c_str());
    result.emplace_back(ids.begin(), ids.end());
  }
  return result;
}

std::string_view text_of(const char* data, std::size_t size, const char* name) {
  require_array(data, size, 1, name);
  return {data, size};
}

std::string c_string(const char* text, const char* name) {
  require(text, name);
  return text;
}

std::vector<MemoryFile> files_of(const gpt2_memory_file* files, std::size_t count) {
  std::vector<MemoryFile> result;
  for (const gpt2_memory_file& file : span_of(files, count, "the list of files")) {
    require(file.name, "the name of a file");
    const auto* const data = static_cast<const std::byte*>(file.data);
    result.push_back({.name = file.name, .bytes = span_of(data, file.size, "the data of a file")});
  }
  return result;
}

void copy_known(void* known, std::size_t known_size, const void* given, const char* name) {
  constexpr std::size_t kMaxSize = 4096;  // of any struct, in any version
  std::size_t size;
  std::memcpy(&size, given, sizeof size);
  if (size < 2 * sizeof size || size > kMaxSize || size % sizeof size != 0) {
    reject(name, ": expected the size of the struct in its member `size`, found ", size);
  }
  const auto* const bytes = static_cast<const unsigned char*>(given);
  std::memcpy(known, bytes, std::min(size, known_size));
  if (size > known_size &&
      std::any_of(bytes + known_size, bytes + size, [](unsigned char byte) { return byte != 0; })) {
    throw Error(ErrorCode::unsupported,
                concat(name, ": expected ", known_size, " bytes, found a member beyond them, of ",
                       size, " bytes: use a newer library"));
  }
}

namespace {

// Parses the text. The JSON library's errors are about a file; here it is an argument.
JsonDocument<nlohmann::json> parsed(const char* text, const char* name) {
  JsonDocument<nlohmann::json> tree;
  try {
    parse_object(tree.root, text == nullptr ? "{}" : text, name);
  } catch (const Error& error) {
    reject(error.what());
  }
  return tree;
}

}  // namespace

JsonArgument::JsonArgument(const char* text, const char* name)
    : tree_(parsed(text, name)), members_(tree_.root) {}

std::function<void(double)> progress_of(gpt2_on_progress on_progress, void* user) {
  if (!on_progress) return {};
  return [on_progress, user](double share) {
    if (!on_progress(user, share)) throw Cancelled();
  };
}

namespace {

// Makes a result of the struct and `count` elements behind it, and one more, which is zero.
template <class Result, class Element>
ResultPointer<Result> make_result(const Element* elements, std::size_t count) {
  static_assert(alignof(Result) >= alignof(Element));
  void* const memory = ::operator new(sizeof(Result) + (count + 1) * sizeof(Element));
  auto* const data = reinterpret_cast<Element*>(static_cast<Result*>(memory) + 1);
  std::copy_n(elements, count, data);
  data[count] = 0;
  return ResultPointer<Result>(new (memory) Result{data, count});
}

}  // namespace

ResultPointer<gpt2_ids> make_ids(std::span<const TokenId> ids) {
  return make_result<gpt2_ids>(ids.data(), ids.size());
}

ResultPointer<gpt2_bytes> make_bytes(std::string_view bytes) {
  return make_result<gpt2_bytes>(bytes.data(), bytes.size());
}

}  // namespace gpt2::c_api

void gpt2_free(void* result) { ::operator delete(result); }

const char* gpt2_last_error(void) { return gpt2::c_api::last_message; }

const char* gpt2_status_name(gpt2_status status) {
  constexpr const char* kNames[] = {"ok",          "not_found",        "invalid_file",
                                    "unsupported", "invalid_argument", "out_of_memory",
                                    "cancelled",   "internal"};
  return status >= 0 && status <= GPT2_INTERNAL ? kNames[status] : "unknown";
}
