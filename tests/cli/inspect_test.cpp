// Runs gpt2 inspect as a process.
#include <tuple>

#include "base/bytes.h"
#include "support/bundled_model.h"
#include "support/command.h"
#include "support/test.h"

namespace gpt2::test::inspect_test {

using nlohmann::json;

namespace {

const std::string kText = "The cat sat. The cat";

Outcome inspect(const Words& arguments, const Surroundings& surroundings = {}) {
  return run(joined_words({"inspect"}, arguments), surroundings);
}

}  // namespace

// requests_inspect_test compares the numbers with those of the library.
TEST_CASE("inspect reads arguments, a file, standard input and token ids") {
  const json report = json::parse(inspect({"--json", "--top", "3", kText}).out);
  CHECK(report["tokens"].size() == bundled::tokenizer().encode(kText).size());
  CHECK(report["norms"][3]["tokens"][0]["outliers"].size() == 3);
  CHECK(report["heads"][0].contains("weights"));
  const Words plain = {"--json", "--no-attention"};
  const std::string expected = inspect(joined_words(plain, {kText})).out;
  CHECK(expected.find("weights") == std::string::npos);
  const TemporaryDirectory directory;
  for (const char* const end : {"", "\n", "\r\n"}) {
    const std::string file = directory.write("text", kText + end).string();
    CHECK(inspect(joined_words(plain, {"-f", file})).out == expected);
    CHECK(inspect(plain, {.input = kText + end}).out == expected);
  }
  const json ids = json::parse(inspect({"--json", "--tokens", "392 476"}).out);
  CHECK(ids["tokens"][1]["id"] == 476);
  const json changed = json::parse(inspect({"--json", "--skip-mlp", "2", "--skip-layer", "3",
                                            "--skip-head", "1.0", "--identity-norm", "ln_f", kText})
                                       .out);
  CHECK(changed["changes"] ==
        json{"--skip-layer 3", "--skip-head 1.0", "--skip-mlp 2", "--identity-norm ln_f"});
  CHECK(changed["compared_with"]["name"] == "the model without changes");
}

TEST_CASE("inspect prints a summary that fits 80 columns") {
  std::string text = "One\ttwo.\r\nThree \xf0\x9f\x98\x80.";
  for (int i = 0; i < (is_slow() ? 22 : 40); ++i) text += " A long text.";
  // The name of the model is what -m says, so the first line is the same wherever the sources lie.
  const std::string out = output_of({"inspect", "-m", "./gpt2-stories", "--skip-mlp", "1", text},
                                    {.directory = bundled::kDirectory / ".."});
  CAPTURE(out);
  CHECK(out.starts_with("./gpt2-stories: 6 blocks, 4 heads"));
  for (const char* const part : {"\\t", "changed", "unchanged", "LayerNorm", "h.5.ln_2", "ln_f",
                                 "the embeddings", "block 5"}) {
    CAPTURE(part);
    CHECK(contains(out, part));
  }
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    const auto continues = [](char c) { return (c & 0xc0) == 0x80; };
    CHECK(line.size() - std::ranges::count_if(line, continues) <= 80);
  }
}

TEST_CASE("inspect shows a model whose numbers are not finite") {
  // A copy of a small model with a NaN in the embedding of position 3.
  const TemporaryDirectory directory;
  const std::filesystem::path from =
      std::filesystem::path(GPT2_TEST_DATA) / "oracle/cases/tiny_default";
  std::filesystem::copy_file(from / "config.json", directory.path() / "config.json");
  std::string weights = read_bytes(from / "model.safetensors");
  const Bytes bytes = std::as_bytes(std::span(weights));
  const auto header = static_cast<std::size_t>(load_little_endian<std::uint64_t>(bytes));
  const json tensors = json::parse(weights.substr(8, header));
  const std::string name = tensors.contains("wpe.weight") ? "wpe.weight" : "transformer.wpe.weight";
  const std::size_t n_embd = tensors.at(name).at("shape").at(1);
  const std::size_t begin = tensors.at(name).at("data_offsets").at(0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(weights.data() + 8 + header + begin + 3 * n_embd * sizeof nan, &nan, sizeof nan);
  std::ofstream(directory.path() / "model.safetensors", std::ios::binary) << weights;

  const std::string model = directory.path().string();
  std::string ids;
  for (int i = 1; i <= 30; ++i) ids += std::to_string(i) + " ";
  CHECK(inspect({"-m", model, "--tokens", ids}).status == 0);
  const json report = json::parse(inspect({"-m", model, "--tokens", "--json", ids}).out);
  CHECK(report["norms"][0]["tokens"][3]["mean"].is_null());
  CHECK_FALSE(report["norms"][0]["tokens"][3].contains("used_mean"));
  CHECK(report["norms"][0]["tokens"][2]["mean"].is_number());
}

TEST_CASE("inspect -o writes one page, and replaces only such pages and empty files") {
  const TemporaryDirectory directory;
  for (const char* const content : {"The cat sat.", "<!doctype html>\n<title>Mine</title>"}) {
    const std::string file = directory.write("other", content).string();
    check_refused({"inspect", "-o", file, kText}, 1, {file, "is not a page of gpt2 inspect"});
    CHECK(read_bytes(file) == content);
  }
  const std::string page = directory.write("page.html", "").string();  // as mktemp makes it
  std::string before;
  for (const char* const text : {"One day", "The cat"}) {
    CHECK(output_of({"inspect", "-o", page, text}) == "");
    const std::string written = read_bytes(page);
    CHECK(written.starts_with("<!doctype html>"));
    CHECK(written.find("\"attention\":\"") != std::string::npos);
    CHECK(written != before);
    before = written;
  }
}

TEST_CASE("inspect refuses in one line what it cannot show") {
  for (const auto& [arguments, status, fact] : std::vector<std::tuple<Words, int, std::string>>{
           {{""}, 1, "1 to 512 tokens, found 0"},
           {{"--tokens", "99999"}, 1, "99999"},
           {{"-o", "/nowhere/page.html", kText}, 1, "/nowhere"},
           {{"-o", "page.html", "--json", kText}, 2, "--json"},
           {{"-o", "-", kText}, 2, "--output"},
           {{"--no-attention", kText}, 2, "--json"},
           {{"--top", "0", kText}, 2, "--top"},
           {{"--skip-layer", "6", kText}, 2, "from 0 to 5"},
           {{"--skip-head", "1", kText}, 2, "--skip-head: expected N.H"},
           {{"--skip-head", "6.1", kText}, 2, "the block of --skip-head"}}) {
    check_refused(joined_words({"inspect"}, arguments), status, {fact});
  }
  CHECK_FALSE(std::filesystem::exists("page.html"));
}

}  // namespace gpt2::test::inspect_test
