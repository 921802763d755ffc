#include "support/tokenizer_cases.h"

#include <cstdlib>
#include <stdexcept>

namespace gpt2::test {

namespace fs = std::filesystem;

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("no file " + file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<nlohmann::json> read_lines(const fs::path& file) {
  std::istringstream text(read_text(file));
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

fs::path tokenizer_data(std::string_view name) {
  return fs::path(GPT2_TEST_DATA) / "tokenizer" / name;
}

fs::path real_vocabulary() {
  if (const char* path = std::getenv("GPT2_TEST_VOCAB")) return path;
  const fs::path beside = fs::path(GPT2_SHARED_DIR) / "vocab" / "gpt2";
  return fs::exists(beside / "vocab.json") ? beside : fs::path();
}

std::string replaced(std::string_view bytes) {
  Utf8Stream stream;
  std::string text(stream.write(bytes));
  text += stream.flush();
  return text;
}

void check_case(const Tokenizer& tokenizer, const nlohmann::json& one, CaseCount& count) {
  const auto text = one.at("text").get<std::string>();
  const auto expected = one.at("ids").get<std::vector<TokenId>>();
  CAPTURE(text);
  EncodeOptions options;
  options.add_special_tokens = !one.value("bare", false);
  options.post_process = true;
  CHECK(tokenizer.encode(text, options) == expected);
  ++count.encoded;
  if (!one.contains("decoded")) return;
  CHECK(replaced(tokenizer.decode(expected)) == one.at("decoded").get<std::string>());
  ++count.decoded;
}

}  // namespace gpt2::test
