// Runs gpt2 inspect as a process and compares what it writes with what the library computes.
#include "gpt2/inspect.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/is_slow.h"
#include "support/temporary_directory.h"

namespace gpt2::test::inspect_test {

using nlohmann::json;

namespace {

const std::string kText = "The cat sat. The cat";

Outcome inspect(const Words& arguments, const Surroundings& surroundings = {}) {
  return run(joined_words({"inspect"}, arguments), surroundings);
}

// The JSON in a page.
json data_of(const std::string& page) {
  const std::string opening = "<script id=\"data\" type=\"application/json\">";
  const std::size_t begin = page.find(opening);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = page.find("</script>", begin);
  return json::parse(page.substr(begin + opening.size(), end - begin - opening.size()));
}

std::size_t base64_length(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

}  // namespace

TEST_CASE("inspect --json writes the numbers of the library") {
  const Outcome outcome = inspect({"--json", "--top", "3", kText});
  CHECK(outcome.err == "");
  REQUIRE(outcome.status == 0);
  const json report = json::parse(outcome.out);

  const std::vector<TokenId> ids = bundled::tokenizer().encode(kText);
  const Inspection found = gpt2::inspect(Engine::shared(bundled::model()), ids, {.top = 3});
  const std::size_t n_head = bundled::model().config().n_head;
  REQUIRE(report["tokens"].size() == ids.size());
  CHECK(report["tokens"][0]["logprob"].is_null());
  REQUIRE(report["norms"].size() == found.norms.size());
  CHECK(report["norms"][0]["name"] == "h.0.ln_1");
  CHECK(report["norms"].back()["name"] == "ln_f");
  CHECK(report["updates"][1]["name"] == "h.0.mlp");
  for (std::size_t t = 0; t < ids.size(); ++t) {
    CAPTURE(t);
    CHECK(report["tokens"][t]["id"] == ids[t]);
    if (t > 0) CHECK(report["tokens"][t]["logprob"].get<float>() == found.scores[t].logprob);
    const json& norm = report["norms"][3]["tokens"][t];
    CHECK(norm["variance"].get<float>() == found.norms[3][t].variance);
    CHECK(norm["outliers"].size() == 3);
    CHECK(norm["outliers"][0]["dimension"] == found.norms[3][t].outliers[0].dimension);
    CHECK(report["updates"][1]["tokens"][t]["growth"].get<float>() == found.updates[1][t].growth);
    CHECK(report["mlps"][2][t]["largest"][0]["neuron"] == found.mlps[2][t].largest[0].neuron);
    CHECK(report["lens"][1][t]["rank"] == found.lens[1][t].rank);
    CHECK(report["lens"][1][t]["top"][0]["id"] == found.lens[1][t].top[0].id);
    const json& parts = report["contributions"][t];
    CHECK(parts["id"] == found.contributions[t].target);
    CHECK(parts["mlp"][1].get<float>() == found.contributions[t].mlp[1]);
    CHECK(parts["heads"][1][2].get<float>() == found.contributions[t].heads[n_head + 2]);
  }
  const json& head = report["heads"][n_head + 2];
  CHECK(head["layer"] == 1);
  CHECK(head["head"] == 2);
  CHECK(head["induction"].get<float>() == found.heads[1][2].induction);
  for (std::size_t query = 0; query < ids.size(); ++query) {
    const auto weights = head["weights"][query].get<std::vector<double>>();
    CHECK(weights.size() == query + 1);
    CHECK(std::accumulate(weights.begin(), weights.end(), 0.0) == Approx(1.0).epsilon(1e-5));
  }
}

TEST_CASE("inspect reads a file, standard input and token ids") {
  const std::string expected = inspect({"--json", "--no-attention", kText}).out;
  CHECK(expected.find("weights") == std::string::npos);
  CHECK(inspect({"--json", "--no-attention"}, {.input = kText}).out == expected);
  const TemporaryDirectory directory;
  for (const char* const end : {"", "\n", "\r\n"}) {
    const std::string file = directory.write("text", kText + end).string();
    CHECK(inspect({"--json", "--no-attention", "-f", file}).out == expected);
    CHECK(inspect({"--json", "--no-attention"}, {.input = kText + end}).out == expected);
  }
  const json ids = json::parse(inspect({"--json", "--tokens", "392 476"}).out);
  CHECK(ids["tokens"][1]["id"] == 476);
  CHECK_FALSE(ids["tokens"][1].contains("text"));
}

TEST_CASE("inspect prints a summary that fits 80 columns") {
  std::string text = "One\ttwo.\r\nThree \xf0\x9f\x98\x80.";
  for (int i = 0; i < (is_slow() ? 22 : 40); ++i) text += " A long text.";
  // The name of the model is what -m says, so the first line is the same wherever the sources lie.
  const Outcome outcome = inspect({"-m", "./gpt2-stories", "--skip-mlp", "1", text},
                                  {.directory = bundled::kDirectory / ".."});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.out.starts_with("./gpt2-stories: 6 blocks, 4 heads"));
  CHECK(outcome.err == "");
  for (const char* const part : {"\\t", "changed", "unchanged", "LayerNorm", "h.5.ln_2", "ln_f",
                                 "the embeddings", "block 5"}) {
    CAPTURE(part);
    CHECK(outcome.out.find(part) != std::string::npos);
  }
  std::istringstream lines(outcome.out);
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

TEST_CASE("inspect -o writes one page with the report and the vectors of the text") {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "page.html";
  const std::string hostile = "</script><script>alert(1)</script><!--";
  const Outcome outcome = inspect({"-o", file.string(), hostile});
  CHECK(outcome.status == 0);
  CHECK(outcome.out + outcome.err == "");
  const std::string page = read_bytes(file);
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.find("alert(1)<") == std::string::npos);
  CHECK(page.find("src=") == std::string::npos);
  for (const char* const link : {"href=\"http", "https:", "url(", "import"}) {
    CHECK(page.find(link) == std::string::npos);
  }
  const json data = data_of(page);
  const Config& config = bundled::model().config();
  const std::size_t tokens = data["tokens"].size(), norms = 2 * config.n_layer + 1;
  CHECK(data["inputs"].get<std::string>().size() ==
        base64_length(norms * tokens * config.n_embd * 3));
  CHECK(data["parameters"].get<std::string>().size() ==
        base64_length(norms * 2 * config.n_embd * 4));
  CHECK(data["attention"].get<std::string>().size() ==
        base64_length(config.n_layer * config.n_head * (tokens * (tokens + 1) / 2) * 2));
}

TEST_CASE("inspect replaces only files of the kind that it writes, and empty ones") {
  const TemporaryDirectory directory;
  const std::string poem = directory.write("poem.txt", "The cat sat.").string();
  const std::string other =
      directory.write("other.html", "<!doctype html>\n<title>Mine</title>").string();
  for (const std::string& file : {poem, other}) {
    check_refused({"inspect", "-o", file, kText}, 1, {file, "is not a page of gpt2 inspect"});
  }
  CHECK(read_bytes(poem) == "The cat sat.");
  const std::string page = directory.write("page.html", "").string();  // as mktemp makes it
  CHECK(inspect({"-o", page, "One day"}).status == 0);
  const std::string first = read_bytes(page);
  CHECK(inspect({"-o", page, "The cat"}).status == 0);
  CHECK(read_bytes(page).starts_with("<!doctype html>"));
  CHECK(read_bytes(page) != first);
}

TEST_CASE("inspect refuses in one line what it cannot show") {
  std::string many;
  for (int i = 0; i < 513; ++i) many += "1 ";
  for (const auto& [arguments, status, fact] : std::vector<std::tuple<Words, int, std::string>>{
           {{""}, 1, "1 to 512 tokens, found 0"},
           {{"--tokens", many}, 1, "1 to 512 tokens, found 513"},
           {{"--tokens", "99999"}, 1, "99999"},
           {{"-m", "no-such-model", kText}, 1, "no-such-model"},
           {{"-o", "/nowhere/page.html", kText}, 1, "/nowhere"},
           {{"-o", "page.html", "--json", kText}, 2, "--json"},
           {{"-o", "-", kText}, 2, "--output"},
           {{"-f", "text.txt", "-o", "text.txt"}, 2, "--file"},
           {{"--no-attention", kText}, 2, "--json"},
           {{"--top", "0", kText}, 2, "--top"},
           {{"--skip-layer", "6", kText}, 2, "from 0 to 5"},
           {{"--skip-head", "1", kText}, 2, "--skip-head: expected N.H"},
           {{"--skip-head", "1.x", kText}, 2, "found '1.x'"},
           {{"--skip-head", "1.4", kText}, 2, "from 0 to 3, found '4'"},
           {{"--skip-head", "6.1", kText}, 2, "the block of --skip-head"},
           {{"--identity-norm", "ln_1", kText}, 2, "found 'ln_1'"},
           {{"--identity-norm", "ln_f.1", kText}, 2, "expected ln_1.N, ln_2.N or ln_f"}}) {
    check_refused(joined_words({"inspect"}, arguments), status, {fact});
  }
  CHECK_FALSE(std::filesystem::exists("page.html"));
}

TEST_CASE("inspect compares a change with the model as it is") {
  const json report =
      json::parse(inspect({"--json", "--skip-mlp", "2", "--no-attention", kText}).out);
  const std::vector<TokenId> ids = bundled::tokenizer().encode(kText);
  const Engine engine = Engine::shared(bundled::model());
  InspectOptions options;
  options.observer.change = [](const Intervention& values) {
    for (std::size_t i = 0; i < values.rows; ++i) std::ranges::fill(values.row(i), 0.0f);
  };
  options.observer.changes = [](Observed what, std::size_t layer) {
    return what == Observed::mlp_output && layer == 2;
  };
  const Inspection changed = gpt2::inspect(engine, ids, options);
  const Inspection plain = gpt2::inspect(engine, ids);
  double loss = 0.0;
  for (std::size_t t = 1; t < ids.size(); ++t) {
    CHECK(report["tokens"][t]["logprob"].get<float>() == changed.scores[t].logprob);
    CHECK(report["compared_with"]["tokens"][t]["logprob"].get<float>() == plain.scores[t].logprob);
    loss -= changed.scores[t].logprob;
  }
  CHECK(report["loss"].get<double>() == Approx(loss / static_cast<double>(ids.size() - 1)));
  CHECK(report["compared_with"]["name"] == "the model without changes");
  CHECK(report["changes"] == json{"--skip-mlp 2"});
  CHECK(report["next"][0]["id"] == changed.lens.back().back().top[0].id);
  // The streams are the same up to the skipped layer, h.2.mlp, and differ after it.
  const json& distance = report["compared_with"]["distance"];
  CHECK(distance[NormIndex::ln_2(2)][3] == 0.0);
  CHECK(distance[NormIndex::ln_1(3)][3] > 0.0);
}

TEST_CASE("changes of inspect do what they say") {
  const auto loss = [](const Words& changes) {
    const Outcome outcome = inspect(joined_words(changes, {"--json", "--no-attention", kText}));
    CAPTURE(outcome.err);
    REQUIRE(outcome.status == 0);
    const json report = json::parse(outcome.out);
    CHECK(report["compared_with"]["loss"].get<double>() > 0.0);
    return report["loss"].get<double>();
  };
  const double plain = json::parse(inspect({"--json", kText}).out)["loss"];
  CHECK(loss({"--identity-norm", "ln_f"}) != plain);
  CHECK(loss({"--identity-norm", "h.1.ln_2"}) == loss({"--identity-norm", "ln_2.1"}));
  CHECK(loss({"--skip-head", "1.0"}) != plain);
  CHECK(loss({"--skip-layer", "3"}) != loss({"--skip-mlp", "3"}));
}

}  // namespace gpt2::test::inspect_test
