#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "c_api/guard.h"
#include "gpt2/generate.h"

// A result is a struct that C programs read, followed by the memory that it points to.

namespace gpt2::c_api {

template <class Public, class Storage>
struct Owned : Public {
  explicit Owned(Storage memory) : Public{}, storage(std::move(memory)) {}
  Storage storage;
};

/// Frees a result of this kind. Does nothing for nullptr.
template <class Result, class Public>
void free_result(Public* result) noexcept {
  delete static_cast<Result*>(result);
}

using OwnedIds = Owned<gpt2_ids, std::vector<TokenId>>;
using OwnedBytes = Owned<gpt2_bytes, std::string>;

std::unique_ptr<OwnedIds> make_ids(std::vector<TokenId> ids);
std::unique_ptr<OwnedBytes> make_bytes(std::string bytes);

/// The scores of some tokens as C structs, with the lists that they point to. The pointers stay
/// valid if the struct is moved.
struct Logprobs {
  explicit Logprobs(std::span<const TokenLogprob> scores);
  Logprobs(Logprobs&&) noexcept = default;

  std::vector<gpt2_token_logprob> tokens;
  std::vector<gpt2_likely_token> top;
};

struct GenerationStorage {
  std::vector<TokenId> tokens;
  std::string text;
  Logprobs logprobs;
};
using OwnedGeneration = Owned<gpt2_generation, GenerationStorage>;

std::unique_ptr<OwnedGeneration> make_generation(const GenerationResult& result, std::string text);

}  // namespace gpt2::c_api
