#pragma once

#include <nlohmann/json.hpp>

#include "gpt2/gpt2.h"
#include "support/bundled_model.h"
#include "support/test.h"

// Calls of the C interface from C++, which fail the test unless they succeed.

namespace gpt2::test::c_api {

using namespace gpt2::test::bundled;
using nlohmann::json;

template <class T>
using Freed = std::unique_ptr<T, void (*)(T*)>;

// Calls `make` with the arguments and a pointer to a handle, and requires that it succeeds.
template <class T, class Make, class... Arguments>
Freed<T> made(void (*free)(T*), Make make, Arguments... arguments) {
  T* result = nullptr;
  const gpt2_status status = make(arguments..., &result);
  INFO(gpt2_last_error());
  REQUIRE(status == GPT2_OK);
  return {result, free};
}

// The same for a function that returns bytes.
template <class Make, class... Arguments>
std::string bytes_of(Make make, Arguments... arguments) {
  gpt2_bytes* result = nullptr;
  const gpt2_status status = make(arguments..., &result);
  INFO(gpt2_last_error());
  REQUIRE(status == GPT2_OK);
  REQUIRE(result->data[result->size] == '\0');
  const std::string bytes(result->data, result->size);
  gpt2_free(result);
  return bytes;
}

template <class Make, class... Arguments>
json json_of(Make make, Arguments... arguments) {
  return json::parse(bytes_of(make, arguments...));
}

inline const gpt2_model* c_model() {
  static const auto loaded = made(gpt2_model_free, gpt2_model_load, kDirectory.string().c_str(),
                                  nullptr, nullptr, nullptr);
  return loaded.get();
}

inline const gpt2_tokenizer* c_tokenizer() {
  static const auto loaded =
      made(gpt2_tokenizer_free, gpt2_tokenizer_load, kDirectory.string().c_str());
  return loaded.get();
}

inline const gpt2_engine* no_engine() { return nullptr; }

// Returns callbacks or an observer with its size and nothing else.
template <class T>
T sized() {
  T result = {};
  result.size = sizeof result;
  return result;
}

inline Freed<gpt2_session> c_session(const char* options = nullptr) {
  return made(gpt2_session_free, gpt2_session_new, c_model(), no_engine(), options);
}

inline Freed<gpt2_scheduler> c_scheduler(const char* options = nullptr) {
  return made(gpt2_scheduler_free, gpt2_scheduler_new, c_model(), no_engine(), options);
}

inline Freed<gpt2_run> c_run(gpt2_scheduler* scheduler, const char* kind, const json& request,
                             const gpt2_callbacks* callbacks = nullptr) {
  return made(gpt2_run_free, gpt2_run_new, scheduler, c_tokenizer(), kind, request.dump().c_str(),
              callbacks);
}

inline std::vector<TokenId> encoded(const char* text) { return tokenizer().encode(text); }

inline bool same_bits(std::span<const float> a, const float* b) {
  return std::memcmp(a.data(), b, a.size_bytes()) == 0;
}

}  // namespace gpt2::test::c_api
