#include "model/tensor_names.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "base/quote.h"

namespace gpt2 {
namespace {

void replace(std::string& text, std::string_view from, std::string_view to) {
  if (const std::size_t at = text.find(from); at != std::string::npos) {
    text.replace(at, from.size(), to);
  }
}

// GPT2LMHeadModel prefixes all but its head; the LayerNorms of converted TensorFlow models say
// gamma and beta.
std::string present_name(std::string name) {
  constexpr std::string_view kPrefix = "transformer.";
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  replace(name, "gamma", "weight");
  replace(name, "beta", "bias");
  return name;
}

// Why a tensor is passed over; nullptr where it is not.
const char* reason_to_ignore(std::string_view name) {
  if (name.starts_with("score.") || name.starts_with("classifier.") ||
      name.starts_with("multiple_choice_head.")) {
    return "the head of another task";
  }
  const bool is_mask = name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
  return is_mask && name.starts_with("h.") ? "a causal mask, as old versions stored it" : nullptr;
}

// At most this many problems are listed: a wrong config makes all of a model's tensors wrong.
constexpr std::size_t kListed = 8;

}  // namespace

TensorNames::TensorNames(const TensorTable& tensors, std::string where, Ignored& ignored)
    : where_(std::move(where)), ignored_(ignored) {
  for (const auto& tensor : tensors) {
    const std::string present = present_name(tensor.first);
    if (const char* const reason = reason_to_ignore(present)) {
      ignored_[reason].push_back(tensor.first);
    } else if (const auto [known, is_new] = tensors_.try_emplace(present, &tensor); !is_new) {
      fail(where_, "tensors ", quote(known->second->first), " and ", quote(tensor.first),
           " are both ", quote(present));
    }
  }
}

const TensorView* TensorNames::take(const std::string& name, const Shape& shape, Kind kind) {
  const auto found = tensors_.extract(name);
  if (found.empty()) {
    problems_.push_back(concat(name, " ", shape.to_string(), " is missing"));
    return nullptr;
  }
  const auto& [stored_name, view] = *found.mapped();
  if (view.shape != shape) {
    problems_.push_back(concat(stored_name, " has shape ", view.shape.to_string(),
                               ", the config asks for ", shape.to_string()));
    return nullptr;
  }
  const bool is_float =
      view.dtype == DType::f32 || view.dtype == DType::f16 || view.dtype == DType::bf16;
  if (kind == Kind::floats ? !is_float : view.dtype != DType::u8) {
    problems_.push_back(concat(stored_name, " is ", name_of(view.dtype),
                               kind == Kind::floats ? ", weights must be F32, F16 or BF16"
                                                    : ", packed weights must be U8"));
    return nullptr;
  }
  return &view;
}

void TensorNames::ignore(const std::string& name, const std::string& reason) {
  const auto found = tensors_.extract(name);
  if (!found.empty()) ignored_[reason].push_back(found.mapped()->first);
}

void TensorNames::finish() {
  for (const auto& [name, tensor] : tensors_) {
    problems_.push_back(quote(tensor->first) + " is not part of a GPT-2 of this config");
  }
  if (problems_.empty()) return;
  std::string message;
  for (std::size_t i = 0; i < std::min(problems_.size(), kListed); ++i) {
    message += (i ? "; " : "") + problems_[i];
  }
  if (problems_.size() > kListed) message += concat("; and ", problems_.size() - kListed, " more");
  fail(where_, message, ": do config.json and the weights belong together?");
}

}  // namespace gpt2
