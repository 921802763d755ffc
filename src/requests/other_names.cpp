#include "requests/other_names.h"

#include <algorithm>
#include <cstddef>

namespace gpt2 {
namespace {

// The names that other programs use, and what to do here, where % precedes the name of an option.
// nearest() would suggest a wrong option, or none, for these names.
struct OtherName {
  std::string_view name;
  std::string_view advice;
};
constexpr OtherName kOtherNames[] = {
    {"bad_words_ids", "did you mean %bad_words, which takes a text?"},
    {"do_sample", "tokens are drawn unless %greedy is given"},
    {"eos_token_id",
     "the files of the model name the tokens that end a text; %stop gives strings that end it"},
    {"greedy", "write %do_sample with the value false"},
    {"hf", "did you mean %model?"},
    {"max_completion_tokens", "did you mean %max_new_tokens?"},
    {"max_length", "did you mean %max_new_tokens?"},
    {"n", "did you mean %max_new_tokens?"},
    {"n_predict", "did you mean %max_new_tokens?"},
    {"num_beams",
     "only 'gpt2 generate', without -i, and the completions of 'gpt2 serve' have a beam search"},
    {"num_return_sequences", "did you mean %samples?"},
    {"num_samples", "did you mean %samples?"},
    {"stop_strings", "did you mean %stop?"}};

}  // namespace

std::string other_name_advice(std::string_view name,
                              const std::function<std::string(const std::string&)>& shown) {
  const auto other = std::ranges::find(kOtherNames, name, &OtherName::name);
  if (other == std::end(kOtherNames)) return "";
  const std::string_view advice = other->advice;
  const std::size_t begin = std::min(advice.find('%'), advice.size());
  if (begin == advice.size()) return std::string(advice);
  const std::size_t end = advice.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin + 1);
  const std::string here = shown(std::string(advice.substr(begin + 1, end - begin - 1)));
  if (here.empty()) return "";
  return std::string(advice.substr(0, begin)) + here + std::string(advice.substr(end));
}

}  // namespace gpt2
