// Tests the tokenizer with a small vocabulary of its own. The expected results come from
// HuggingFace's tokenizers library (tools/make_tokenizer_cases.mjs).
#include "gpt2/tokenizer.h"

#include <ctime>

#include "support/test.h"
#include "support/tokenizer_cases.h"

namespace gpt2::test::tokenizer_test {

using nlohmann::json;

namespace {

json small_json() { return json::parse(read_text(tokenizer_data("small/tokenizer.json"))); }

Tokenizer load_json(const json& root, const json& config = {}) {
  const TemporaryDirectory folder;
  folder.write("tokenizer.json", root.dump());
  if (!config.is_null()) folder.write("tokenizer_config.json", config.dump());
  return Tokenizer::load(folder.path());
}

// HuggingFace's class that changes nothing of a tokenizer.json, like its tokenizers library.
const json kPlainClass = {{"tokenizer_class", "PreTrainedTokenizerFast"}};

// Loads the small vocabulary from vocab.json and merges.txt, with more files beside them.
Tokenizer load_pair(const std::vector<std::pair<std::string, json>>& more = {}) {
  const TemporaryDirectory folder;
  for (const char* name : {"vocab.json", "merges.txt"}) {
    folder.write(name, read_text(tokenizer_data("small") / name));
  }
  for (const auto& [name, value] : more) folder.write(name, value.dump());
  return Tokenizer::load(folder.path());
}

json added_token(int id, const char* content, json flags = json::object()) {
  json token = {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
                {"rstrip", false}, {"normalized", false}, {"special", false}};
  token.update(flags);
  return token;
}

std::string random_bytes(std::mt19937& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random() & 0xff);
  return bytes;
}

// Returns the time that `work` takes of this process. A few tenths of a second are usual here, and
// a quadratic algorithm would take many minutes. The limits leave room for sanitizers.
template <class Work>
double seconds_of(const Work& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

constexpr TokenId kEndOfText = 312;

}  // namespace

TEST_CASE("every kind of tokenizer.json gives the same ids and text as HuggingFace's library") {
  CaseCount count;
  std::size_t tokenizers = 0;
  for (const json& variant : read_lines(tokenizer_data("variants.jsonl"))) {
    const auto name = variant.at("name").get<std::string>();
    CAPTURE(name);
    json root = small_json();
    root.merge_patch(variant.at("patch"));
    const Tokenizer tokenizer = load_json(root, kPlainClass);
    for (const json& one : variant.at("cases")) check_case(tokenizer, one, count);
    ++tokenizers;
    if (!variant.at("patch").empty()) continue;
    const Tokenizer pair = load_pair();  // vocab.json and merges.txt have the same tokens
    for (const json& one : variant.at("cases")) check_case(pair, one, count);
    CHECK(pair.is_special(kEndOfText));
  }
  CHECK(tokenizers >= 26);
  CHECK(count.encoded >= 1000);
  WARN("compared " << count.encoded << " encodings and " << count.decoded << " decodings of "
                   << tokenizers << " tokenizers");
}

TEST_CASE("added tokens have the same meaning in whichever file they are") {
  json root = small_json();
  root["added_tokens"].push_back(added_token(313, "[x]", {{"lstrip", true}}));
  root["added_tokens"].push_back(added_token(314, "<|pad|>", {{"special", true}}));
  const Tokenizer whole = load_json(root);
  const json decoder = {{"312", added_token(312, "<|endoftext|>", {{"special", true}})},
                        {"313", added_token(313, "[x]", {{"lstrip", true}})},
                        {"314", added_token(314, "<|pad|>", {{"special", true}})}};
  const Tokenizer by_decoder =
      load_pair({{"tokenizer_config.json", {{"added_tokens_decoder", decoder}}}});
  // added_tokens.json has no flags. The flags of [x] come from the map of special tokens.
  const Tokenizer by_map = load_pair(
      {{"added_tokens.json", {{"<|pad|>", 314}}},
       {"special_tokens_map.json",
        {{"pad_token", "<|pad|>"},
         {"additional_special_tokens",
          json::array({{{"content", "[x]"}, {"lstrip", true}, {"normalized", false}}})}}}});
  for (const Tokenizer* tokenizer : {&whole, &by_decoder, &by_map}) {
    CHECK(tokenizer->vocab_size() == 313);  // <|endoftext|> is in vocab.json
  }
  const std::string text = "a  [x] b<|pad|>the [x][x]";
  const std::vector<TokenId> expected = {64, 313, 220, 65, 314};
  const auto ids = whole.encode(text);
  CHECK(std::vector(ids.begin(), ids.begin() + 5) == expected);
  CHECK(by_decoder.encode(text) == ids);
  CHECK(by_decoder.is_special(314));
  CHECK_FALSE(by_decoder.is_special(313));

  std::vector<TokenId> swapped = ids;  // new tokens get the next free ids, and [x] has none
  for (TokenId& id : swapped) id = id == 313 ? 314 : id == 314 ? 313 : id;
  CHECK(by_map.encode(text) == swapped);
  CHECK(by_map.is_special(313));
  CHECK(by_map.is_special(314));
  CHECK(by_map.size() == 315);
}

TEST_CASE("a token that one file declares special stays special whatever other files say") {
  json root = small_json();
  root["added_tokens"].push_back(added_token(313, "<|pad|>", {{"special", true}}));
  const TemporaryDirectory folder;
  folder.write("tokenizer.json", root.dump());
  folder.write("added_tokens.json", R"({"<|pad|>": 313})");
  CHECK(Tokenizer::load(folder.path()).is_special(313));
}

TEST_CASE("special tokens of added_tokens.json are matched before the others") {
  const Tokenizer tokenizer = load_pair({{"added_tokens.json", {{"<sep>", 313}, {"x<sep", 314}}},
                                         {"special_tokens_map.json", {{"sep_token", "<sep>"}}}});
  CHECK(tokenizer.encode("x<sep>") == std::vector<TokenId>{87, 313});
  CHECK(tokenizer.is_special(313));
  CHECK_FALSE(tokenizer.is_special(314));
}

TEST_CASE("with parse_special = false, text that looks like a special token stays text") {
  const Tokenizer tokenizer = load_json(small_json());
  const std::string text = "a<|endoftext|>the";
  CHECK(tokenizer.encode("<|endoftext|>") == std::vector<TokenId>{kEndOfText});
  const auto ids = tokenizer.encode(text, {.parse_special = false});
  CHECK(std::find(ids.begin(), ids.end(), kEndOfText) == ids.end());
  CHECK(tokenizer.decode(ids) == text);
  CHECK(tokenizer.decode(tokenizer.encode(text)) == text);

  json root = small_json();  // an added token that is not special stays one
  root["added_tokens"].push_back(added_token(313, "[x]"));
  CHECK(load_json(root).encode("[x]<", {.parse_special = false}) == std::vector<TokenId>{313, 27});
}

TEST_CASE("add_prefix_space of tokenizer.json counts only for the classes that do not replace it") {
  // GPT2TokenizerFast sets it to the value in tokenizer_config.json, or to false. It does not look
  // into a Sequence.
  const std::vector<TokenId> with_space = {261}, without = {64};
  json level = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}};
  const auto encode_a = [](const json& pre_tokenizer, const json& config) {
    json root = small_json();
    root["pre_tokenizer"] = pre_tokenizer;
    return load_json(root, config).encode("a");
  };
  CHECK(encode_a(level, {}) == without);
  CHECK(encode_a(level, {{"tokenizer_class", "GPT2Tokenizer"}}) == without);
  CHECK(encode_a(level, {{"add_prefix_space", true}}) == with_space);
  CHECK(encode_a(level, kPlainClass) == with_space);
  json sequence = {{"type", "Sequence"}, {"pretokenizers", json::array({level})}};
  CHECK(encode_a(sequence, {}) == with_space);
  sequence["pretokenizers"][0]["add_prefix_space"] = false;
  CHECK(encode_a(sequence, {{"add_prefix_space", true}}) == without);
}

TEST_CASE("add_bos_token puts one bos_token before the text") {
  const json config = {{"add_bos_token", true}, {"bos_token", "<|endoftext|>"}};
  const Tokenizer pair = load_pair({{"tokenizer_config.json", config}});
  CHECK(pair.encode("a") == std::vector<TokenId>{kEndOfText, 64});
  CHECK(pair.encode("a", {.add_special_tokens = false}) == std::vector<TokenId>{64});
  CHECK(pair.encode("") == std::vector<TokenId>{kEndOfText});
  const json others = {{"bos_token", "a"}, {"eos_token", "b"}};
  CHECK(load_pair({{"tokenizer_config.json", others}}).bos_token() == 64);
}

TEST_CASE("find() finds tokens by their text") {
  json root = small_json();
  root["added_tokens"].push_back(added_token(313, "üü"));
  const Tokenizer tokenizer = load_json(root);
  CHECK(tokenizer.find("<|endoftext|>") == kEndOfText);
  CHECK(tokenizer.find(" the") == 258);
  CHECK(tokenizer.find(" ") == 220);
  CHECK(tokenizer.find("üü") == 313);
  CHECK_FALSE(tokenizer.find("no such token"));
  CHECK(tokenizer.bytes(258) == " the");
  CHECK(tokenizer.bytes(313) == "üü");
  CHECK(tokenizer.bytes(-1).empty());
  CHECK(tokenizer.bytes(314).empty());
  CHECK(tokenizer.size() == 314);
  CHECK(tokenizer.end_of_text() == kEndOfText);
  CHECK(tokenizer.is_special(kEndOfText));
  CHECK_FALSE(tokenizer.is_special(258));
  CHECK_FALSE(tokenizer.is_special(-1));
  CHECK(tokenizer.decode(std::vector<TokenId>{64, 99999, -5, 65}) == "ab");
  CHECK(tokenizer.description() == "byte-level BPE, 314 tokens (tokenizer.json)");
  CHECK(load_pair().description() == "byte-level BPE, 313 tokens (vocab.json, merges.txt)");
}

TEST_CASE("the end-of-text token is the one that the files name") {
  const json mark = {{"eos_token", "!"}}, marked = {{"eos_token", {{"content", "!"}}}};
  const json he = {{"eos_token", "he"}}, none = {{"eos_token", nullptr}};
  CHECK(load_pair({{"tokenizer_config.json", mark}}).end_of_text() == 0);
  CHECK(load_pair({{"special_tokens_map.json", marked}}).end_of_text() == 0);
  CHECK(
      load_pair({{"tokenizer_config.json", mark}, {"special_tokens_map.json", he}}).end_of_text() ==
      257);
  CHECK(load_pair({{"tokenizer_config.json", none}}).end_of_text() == kEndOfText);
  // With an added_tokens_decoder, HuggingFace's transformers reads no other file.
  const Tokenizer by_decoder = load_pair(
      {{"tokenizer_config.json",
        {{"added_tokens_decoder",
          {{"312", added_token(312, "<|endoftext|>", {{"special", true}})}}}}},
       {"special_tokens_map.json", {{"eos_token", "!"}, {"bos_token", "a"}, {"pad_token", "[a]"}}},
       {"added_tokens.json", {{"?", 30}}}});
  CHECK(by_decoder.end_of_text() == kEndOfText);
  CHECK_FALSE(by_decoder.is_special(0));
  CHECK(by_decoder.bos_token() != 64);
  CHECK(by_decoder.size() == 313);
  json root = small_json();
  root["added_tokens"] = json::array();
  root["model"]["vocab"].erase("<|endoftext|>");
  CHECK_FALSE(load_json(root).end_of_text());
}

TEST_CASE("every byte comes back, whatever bytes surround it") {
  const Tokenizer tokenizer = load_json(small_json());
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const std::string bytes = random_bytes(random, random() % 200);
    CAPTURE(bytes);
    REQUIRE(tokenizer.decode(tokenizer.encode(bytes)) == bytes);
  }
}

TEST_CASE("no text takes more than a moment, whatever the added tokens are") {
  // Some tokens nearly match everywhere, some match inside one another, and some could make a naive
  // search scan the same white space again and again.
  json root = small_json();
  const std::string as(1000, 'a');
  root["added_tokens"].push_back(added_token(313, (as + "b").c_str()));
  root["added_tokens"].push_back(
      added_token(314, ("b" + as + "c").c_str(), {{"normalized", true}}));
  root["added_tokens"].push_back(added_token(315, " ", {{"rstrip", true}}));
  root["added_tokens"].push_back(added_token(316, "\n", {{"lstrip", true}}));
  root["added_tokens"].push_back(added_token(317, "\t", {{"lstrip", true}, {"rstrip", true}}));
  root["added_tokens"].push_back(added_token(318, "\u00a0", {{"single_word", true}}));
  const Tokenizer tokenizer = load_json(root);
  const std::size_t size = is_slow() ? 1 << 17 : 1 << 19;
  std::mt19937 random(23);
  std::vector<std::string> texts = {random_bytes(random, size), random_bytes(random, size)};
  for (char& c : texts[1]) c = static_cast<char>('a' + static_cast<unsigned char>(c) % 26);
  for (const char* unit : {"a", " ", "\n", "\t", " \n", "\n\t ", "\u00a0", "\xc2", "ba", "<|end",
                           "'", "the", "\u00e9", "<|endoftext|"}) {
    std::string& text = texts.emplace_back();
    while (text.size() < size) text += unit;
  }
  for (const std::string& text : texts) {
    CAPTURE(text.substr(0, 20));
    CHECK(seconds_of([&] { CHECK_FALSE(tokenizer.encode(text).empty()); }) < 20.0);
  }
}

TEST_CASE("a vocabulary made to cause hash collisions loads as fast as any other") {
  // The usual hash function, a multiplication by the golden ratio, puts the pairs of these ids into
  // few slots of a table. Probing these slots for every merge would take minutes.
  const std::size_t side = is_slow() ? 300 : 700;
  std::vector<bool> taken(1 << 20);
  const auto ids_of_few_slots = [&](std::uint64_t scale) {
    std::vector<TokenId> chosen;
    for (std::size_t id = 0; chosen.size() < side; ++id) {
      const bool is_near = id * scale * 0x9e3779b97f4a7c15u < ~std::uint64_t{0} / 1000;
      if (!is_near || taken.at(id)) continue;
      taken[id] = true;
      chosen.push_back(static_cast<TokenId>(id));
    }
    return chosen;
  };
  const std::vector<TokenId> left_ids = ids_of_few_slots(std::uint64_t{1} << 20);
  const std::vector<TokenId> right_ids = ids_of_few_slots(1);

  std::string vocab = "{";
  std::string merges;
  const auto add = [&](const std::string& token, TokenId id) {
    vocab.append(vocab.size() == 1 ? "\"" : ",\"").append(token).append("\":");
    vocab += std::to_string(id);
  };
  std::size_t next = 0;
  for (std::size_t i = 0; i < side; ++i) {
    const std::string left = std::to_string(i) + "l";
    add(left, left_ids[i]);
    add(std::to_string(i) + "r", right_ids[i]);
    for (std::size_t j = 0; j < side; ++j) {
      const std::string right = std::to_string(j) + "r";
      while (taken[next]) ++next;
      add(left + right, static_cast<TokenId>(next++));
      merges += left + " " + right + "\n";
    }
  }
  const TemporaryDirectory folder;
  folder.write("vocab.json", vocab + "}");
  folder.write("merges.txt", merges);
  const auto load = [&] { CHECK(Tokenizer::load(folder.path()).size() > side * side); };
  CHECK(seconds_of(load) < 20.0);  // usually half a second
}

TEST_CASE("a text of 2 GiB is refused before it is read") {
  const Tokenizer tokenizer = load_json(small_json());
  const std::string_view too_long("a", 2147483647);
  check_refused([&] { (void)tokenizer.encode(too_long); }, {"2147483647 bytes", "2 GiB"},
                ErrorCode::invalid_argument);
}

}  // namespace gpt2::test::tokenizer_test
