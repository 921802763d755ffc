#include <string_view>

#include "base/fail.h"
#include "generate/options/check_numbers.h"
#include "generate/sampling/processor.h"

namespace gpt2 {
namespace {

class IdCheck {
 public:
  explicit IdCheck(std::size_t vocab_size) : vocab_size_(vocab_size) {}

  void check(std::string_view name, TokenId id) const {
    if (id >= 0 && static_cast<std::size_t>(id) < vocab_size_) return;
    reject(name, " has the token ", id, ", which is outside the vocabulary of ", vocab_size_,
           ": give ids from 0 to ", vocab_size_ - 1);
  }
  void check(std::string_view name, const std::optional<TokenId>& id) const {
    if (id) check(name, *id);
  }
  void check(std::string_view name, const std::vector<TokenId>& ids) const {
    for (const TokenId id : ids) check(name, id);
  }
  void check(std::string_view name, const std::vector<std::vector<TokenId>>& sequences) const {
    for (const auto& ids : sequences) check_sequence(name, ids);
  }
  void check(std::string_view name, const std::vector<SequenceBias>& biases) const {
    for (const auto& [ids, bias] : biases) check_sequence(name, ids);
  }
  void check(std::string_view name, const std::vector<std::pair<TokenId, float>>& biases) const {
    for (const auto& [id, bias] : biases) check(name, id);
  }
  template <class T>
  void check(std::string_view, const T&) const {}  // the value has no token ids

 private:
  void check_sequence(std::string_view name, const std::vector<TokenId>& ids) const {
    if (ids.empty()) reject(name, " has a sequence without tokens: give at least one");
    check(name, ids);
  }

  std::size_t vocab_size_;
};

}  // namespace

void check_ranges(const SamplingOptions& options) {
  for_each_sampling_field(
      [&](const auto& field) { check_numbers(field.name, field.range, options.*field.member); });
}

void check_ids(const SamplingOptions& options, std::size_t vocab_size) {
  const IdCheck ids(vocab_size);
  for_each_sampling_field([&](const auto& field) { ids.check(field.name, options.*field.member); });
  for (const LogitsProcessor& processor : options.processors) {
    if (!processor) reject("processors has an empty function: leave it out");
  }
}

}  // namespace gpt2
