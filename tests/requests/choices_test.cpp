// Tests requests that compare choices: the numbers are those of score_choices().
#include <string>
#include <vector>

#include "gpt2/score.h"
#include "support/catch.h"
#include "support/openai.h"
#include "support/requests.h"

namespace gpt2::test::requests_choices_test {

namespace {

Door of_stories() { return {stories()}; }

json choices_of(const json& body, const Door& door = of_stories()) {
  return answer("choices", body, door);
}

}  // namespace

TEST_CASE("choices have the numbers of the library") {
  const std::vector<std::string> texts = {" moon", " time", " time, there was"};
  const std::vector<TokenId> context = stories().ids("Once upon a");
  std::vector<std::vector<TokenId>> ids;
  for (const std::string& text : texts) ids.push_back(stories().ids(text));
  const ChoiceQuestion question = {context, ids};
  const auto expected = score_choices(stories().engine, {&question, 1}, 2).front();
  const json found = choices_of({{"context", "Once upon a"}, {"choices", texts}, {"logprobs", 2}});
  CHECK(choices_of({{"context", context}, {"choices", ids}, {"logprobs", 2}}) == found);
  CHECK(found["best"] == 1);
  REQUIRE(found["choices"].size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const json& choice = found["choices"][i];
    CHECK(choice["tokens"] == ids[i].size());
    CHECK(choice["logprob"] == expected[i].sum);
    CHECK(choice["logprob_per_token"] == expected[i].mean);
    CHECK(choice["logprob_per_byte"] == expected[i].sum / static_cast<double>(texts[i].size()));
    CHECK(choice["greedy_match"] == expected[i].greedy_match);
    REQUIRE(choice["logprobs"].size() == ids[i].size());
    CHECK(choice["logprobs"][0]["id"] == ids[i][0]);
    CHECK(choice["logprobs"][0]["logprob"].get<float>() == expected[i].tokens[0].logprob);
    CHECK(choice["logprobs"][0]["top"].size() == 2);
  }
  CHECK(found["choices"][1]["greedy_match"] == true);
  CHECK(found["choices"][0]["greedy_match"] == false);
  const json plain = choices_of({{"context", "Once upon a"}, {"choices", texts}});
  CHECK_FALSE(plain["choices"][0].contains("logprobs"));
}

TEST_CASE("the best choice by token or byte may be another than the best one") {
  // The alphabet model continues a with b, so the log-probability of "bcd" is nearly 0 and that of
  // "z" is not. A longer choice with one unlikely byte has a lower sum, but a higher mean.
  const json found = choices_of({{"context", "a"}, {"choices", {"z", "bcdefghijklx", "qr"}}}, {});
  CHECK(found["best"] != 1);
  CHECK(found["best_per_token"] == 1);
  CHECK(found["best_per_byte"] == 1);
  CHECK(found["choices"][1]["tokens"] == 12);
}

TEST_CASE("a context may begin with the end-of-text token, or be that token alone") {
  const json body = {{"context", ""}, {"choices", {"Once", " sky"}}};
  const json found = choices_of(with(body, {{"add_bos", true}}));
  CHECK(found["best"] == 0);
  CHECK(found == choices_of(with(body, {{"context", "<|endoftext|>"}})));
  CHECK_FALSE(refusal("choices", body, of_stories()).is_null());
}

TEST_CASE("without a tokenizer, no number is by byte") {
  const json found =
      choices_of({{"context", {97}}, {"choices", {{98}, {97}}}}, {alphabet_of_ids()});
  CHECK(found["best"] == 0);
  CHECK_FALSE(found.contains("best_per_byte"));
  check_shape(found["choices"][0],
              "tokens:integer logprob:number logprob_per_token:number greedy_match:boolean");
}

TEST_CASE("wrong questions are refused by name") {
  check_refusals("choices", "",
                 {{R"("choices": [" a"])", "context", kMissing},
                  {R"("context": "a")", "choices", kMissing},
                  {R"("context": 5, "choices": ["b"])", "context"},
                  {R"("context": [300], "choices": ["b"])", "context[0]"},
                  {R"("context": "a", "choices": " b")", "choices"},
                  {R"("context": "a", "choices": [])", "choices"},
                  {R"("context": "a", "choices": [null])", "choices[0]"},
                  {R"("context": "a", "choices": ["b", [97, -1]])", "choices[1][1]"},
                  {R"("context": "a", "choices": ["b", ""])", {}},
                  {R"("context": "", "choices": ["b"])", {}}});
  check_refusals("choices", R"("context": "a", "choices": ["b"])",
                 {{R"("logprobs": 101)", "logprobs"},
                  {R"("add_bos": "yes")", "add_bos"},
                  {R"("texts": "a")", "texts", kUnknown},
                  {R"("stride": 2)", "stride", kUnknown}});
  const json long_choice = {{"context", "a"}, {"choices", {std::string(65, 'a')}}};
  const std::string message = refusal("choices", long_choice)["message"];
  for (const char* const fact : {"choice 1", "66", "65"}) {
    CHECK(message.find(fact) != message.npos);
  }
}

}  // namespace gpt2::test::requests_choices_test
