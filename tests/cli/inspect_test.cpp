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

#include "base/bytes.h"
#include "base/text.h"
#include "formats/zip.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/is_slow.h"
#include "support/temporary_directory.h"

namespace gpt2::test::inspect_test {

using nlohmann::json;

namespace {

const std::string kText = "The cat sat. The cat";

Outcome inspect(Words arguments, const Surroundings& surroundings = {}) {
  arguments.insert(arguments.begin(), "inspect");
  return run(arguments, surroundings);
}

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
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

void check_refused(const Words& arguments, int status, const std::string& message) {
  CAPTURE(arguments);
  const Outcome outcome = inspect(arguments);
  CHECK(outcome.status == status);
  CHECK(outcome.out.empty());
  CAPTURE(outcome.err);
  CHECK(outcome.err.find(message) != std::string::npos);
  CHECK(std::ranges::count(outcome.err, '\n') == 1);
}

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

TEST_CASE("a TEXT that is the name of a file is taken as a text, with a note") {
  const TemporaryDirectory directory;
  directory.write("poem.txt", kText);
  const Surroundings here = {.directory = directory.path()};
  const std::string note =
      "gpt2: 'poem.txt' is taken as a text; to read the file, write -f poem.txt\n";
  const Outcome taken = inspect({"--json", "--no-attention", "poem.txt"}, here);
  CHECK(taken.status == 0);
  CHECK(taken.err == note);
  CHECK(json::parse(taken.out)["tokens"].size() == bundled::tokenizer().encode("poem.txt").size());
  CHECK(inspect({"--json", "--no-attention", "-f", "poem.txt"}, here).err == "");
  CHECK(run({"tokenize", "poem.txt"}, here).err == note);
  CHECK(run({"poem.txt", "-n", "1"}, here).err == note);
}

TEST_CASE("the note about a file's name quotes the name for a shell") {
  const TemporaryDirectory directory;
  for (const auto& [name, word] : std::vector<std::pair<std::string, std::string>>{
           {"my poem.txt", "'my poem.txt'"},
           {"it's mine", R"('it'\''s mine')"},
           {"$HOME", "'$HOME'"},
           {"po\xc3\xa8me-1_a.txt", "po\xc3\xa8me-1_a.txt"}}) {
    directory.write(name, kText);
    CHECK(run({"tokenize", name}, {.directory = directory.path()}).err ==
          "gpt2: '" + name + "' is taken as a text; to read the file, write -f " + word + "\n");
  }
}

TEST_CASE("inspect prints a summary, without colours for a pipe") {
  const Outcome piped = inspect({kText});
  CHECK(piped.status == 0);
  CHECK(piped.err == "");
  CHECK(piped.out.find('\033') == std::string::npos);
  CHECK(piped.out.find("\u2581") == std::string::npos);
  for (const char* const part : {"' cat'", "LayerNorm", "h.5.ln_2", "ln_f", "Residual stream",
                                 "induction", "the embeddings", "block 5"}) {
    CAPTURE(part);
    CHECK(piped.out.find(part) != std::string::npos);
  }
}

TEST_CASE("inspect has colours on a terminal, unless NO_COLOR is set", "[terminal]") {
  for (const bool may_colour : {true, false}) {
    CAPTURE(may_colour);
    Surroundings terminal = {.environment = {"TERM=xterm"},
                             .terminal = true,
                             .terminal_errors = true,
                             .terminal_output = true,
                             .columns = 70};
    if (!may_colour) terminal.environment.emplace_back("NO_COLOR=1");
    Command command({"inspect", "--quiet", kText}, terminal);
    command.await_error("block 5");
    CHECK((command.err.find("\033[") != std::string::npos) == may_colour);
    CHECK((command.err.find("\u2581") != std::string::npos) == may_colour);
    CHECK(command.wait() == 0);
  }
}

TEST_CASE("the summary of inspect fits the terminal and shows every character") {
  std::string text = "One\ttwo.\r\nThree \xf0\x9f\x98\x80.";
  for (int i = 0; i < (is_slow() ? 22 : 40); ++i) text += " A long text.";
  const Outcome wide = inspect({text}, {.environment = {"COLUMNS=100"}});
  for (const char* const part : {"'\\t'", "'\\n'", "'\\xf0'"}) {
    CAPTURE(part);
    CHECK(wide.out.find(part) != std::string::npos);
  }
  // The name of the model is what -m says, so the first line is the same wherever the sources lie.
  const std::string facts = "6 blocks, 4 heads, 256 dimensions; ";
  for (const std::size_t columns : {60u, 80u}) {
    const Outcome outcome = inspect(
        {"-m", "./gpt2-stories", "--skip-mlp", "1", text},
        {.directory = bundled::kDirectory / "..", .environment = {concat("COLUMNS=", columns)}});
    std::istringstream lines(outcome.out);
    CAPTURE(columns, outcome.out, outcome.err);
    CHECK(outcome.out.starts_with(concat("./gpt2-stories:", columns == 60 ? "\n" : " ", facts)));
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(line.size() <= columns);
    }
  }
  CHECK(inspect({"The"}).out.find("first token      -  (the text has one token)") !=
        std::string::npos);
}

TEST_CASE("inspect shows a model whose numbers are not finite", "[terminal]") {
  // A copy of a small model with a NaN in the embedding of position 3.
  const TemporaryDirectory directory;
  const std::filesystem::path from =
      std::filesystem::path(GPT2_TEST_DATA) / "oracle/cases/tiny_default";
  std::filesystem::copy_file(from / "config.json", directory.path() / "config.json");
  std::string weights = content(from / "model.safetensors");
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
  Command command({"inspect", "--quiet", "-m", model, "--tokens", ids},
                  {.environment = {"TERM=xterm"},
                   .terminal = true,
                   .terminal_errors = true,
                   .terminal_output = true,
                   .columns = 120});
  command.await_error("block 1");
  CHECK(command.wait() == 0);
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
  const std::string page = content(file);
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
  check_refused({"-o", poem, kText}, 1,
                poem +
                    " is not a page of gpt2 inspect, so it is not replaced by one: give another "
                    "file");
  check_refused({"--npz", poem, kText}, 1,
                poem + " is not an archive of NumPy arrays, so it is not replaced by one");
  CHECK(content(poem) == "The cat sat.");
  // A zip archive of something else: the header of a file "word.xml".
  const std::string none(22, '\0');
  const std::string zip = "PK\3\4" + none + "\b" + none.substr(0, 3);  // a name of 8 bytes
  const std::string thesis = directory.write("thesis.docx", zip + "word.xml and its text").string();
  check_refused({"--npz", thesis, kText}, 1, thesis + " is not an archive of NumPy arrays");
  CHECK(content(thesis) == zip + "word.xml and its text");
  const std::string other =
      directory.write("other.html", "<!doctype html>\n<title>Mine</title>").string();
  check_refused({"-o", other, kText}, 1, other + " is not a page of gpt2 inspect");
  const std::string page = directory.write("page.html", "").string();  // as mktemp makes it
  CHECK(inspect({"-o", page, "One day"}).status == 0);
  const std::string first = content(page);
  CHECK(inspect({"-o", page, "The cat"}).status == 0);
  CHECK(content(page).starts_with("<!doctype html>"));
  CHECK(content(page) != first);
  const std::string archive = (directory.path() / "a.npz").string();
  CHECK(inspect({"--npz", archive, "One day"}).status == 0);
  CHECK(inspect({"--npz", archive, "The cat"}).status == 0);
}

TEST_CASE("inspect refuses in one line what it cannot show") {
  check_refused({""}, 1,
                "expected a text of 1 to 512 tokens, found 0: give one as an argument, or with --file");
  std::string many;
  for (int i = 0; i < 513; ++i) many += "1 ";
  check_refused({"--tokens", many}, 1, "expected a text of 1 to 512 tokens, found 513");
  check_refused({"--tokens", "99999"}, 1, "99999");
  check_refused({"-o", "/nowhere/page.html", kText}, 1, "/nowhere");
  check_refused({"-o", "page.html", "--json", kText}, 2, "--json");
  check_refused({"-o", "-", kText}, 2, "--output: expected the name of a file");
  check_refused({"--npz", "-", kText}, 2, "--npz: expected the name of a file");
  check_refused({"-o", "page.html", "--npz", "page.html", kText}, 2,
                "--npz: expected another file");
  check_refused({"-o", "page.html", "--npz", "./page.html", kText}, 2, "--npz: expected another");
  check_refused({"-f", "text.txt", "-o", "text.txt"}, 2, "--file: expected another file");
  check_refused({"--against", "", kText}, 2, "--against: expected a model");
  check_refused({"--patch", "@embeddings", kText}, 2, "--patch: expected a text of 1 to 512");
  check_refused({"--no-attention", kText}, 2, "--json");
  // A model without weights: what is checked before it is loaded.
  const TemporaryDirectory empty;
  empty.write("config.json", "{}");
  const std::string model = empty.path().string();
  check_refused({"-m", model, "--against", "no-such-model", kText}, 1, "no model 'no-such-model'");
  check_refused({"-m", model, "--patch", "The cat@block.1", kText}, 2, "--patch: expected a place");
  check_refused({"--top", "0", kText}, 2, "--top");
  check_refused({"-m", "no-such-model", kText}, 1, "no-such-model");
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

TEST_CASE("inspect shows its changes as a shell takes them") {
  const Words arguments = {"--skip-mlp", "1", "--patch", "The dog sat. The cat@embeddings:0", kText};
  CHECK(inspect(arguments).out.find("\n--patch 'The dog sat. The cat@embeddings:0'\n") !=
        std::string::npos);
  Words as_json = arguments;
  as_json.insert(as_json.begin(), {"--json", "--no-attention"});
  CHECK(json::parse(inspect(as_json).out)["changes"] ==
        json{"--skip-mlp 1", "--patch 'The dog sat. The cat@embeddings:0'"});
}

TEST_CASE("changes of inspect do what they say") {
  const auto loss = [](const Words& changes) {
    Words arguments = changes;
    arguments.insert(arguments.end(), {"--json", "--no-attention", kText});
    const Outcome outcome = inspect(arguments);
    CAPTURE(outcome.err);
    REQUIRE(outcome.status == 0);
    const json report = json::parse(outcome.out);
    CHECK(report["compared_with"]["loss"].get<double>() > 0.0);
    return report["loss"].get<double>();
  };
  const double plain = json::parse(inspect({"--json", kText}).out)["loss"];
  CHECK(loss({"--patch", kText + "@block_output.2"}) == plain);
  CHECK(loss({"--patch", kText + "@attention_weights.1", "--patch", kText + "@embeddings:3"}) ==
        plain);
  CHECK(loss({"--patch", "The dog sat. The cat@block_output.5"}) != plain);
  CHECK(loss({"--identity-norm", "ln_f"}) != plain);
  CHECK(loss({"--identity-norm", "h.1.ln_2"}) == loss({"--identity-norm", "ln_2.1"}));
  CHECK(loss({"--skip-head", "1.0"}) != plain);
  CHECK(loss({"--skip-layer", "3"}) != loss({"--skip-mlp", "3"}));
  check_refused({"--skip-layer", "6", kText}, 2, "--skip-layer: expected a whole number from 0 to");
  for (const std::string head : {"1", "0-3", "1.x", "h.1"}) {
    check_refused({"--skip-head", head, kText}, 2,
                  "--skip-head: expected N.H, which is head H of block N, such as 2.1 (for several "
                  "heads, give the option several times), found '" +
                      head + "'");
  }
  check_refused({"--skip-head", "1.4", kText}, 2,
                "the head of --skip-head: expected a whole number from 0 to 3, found '4'");
  check_refused({"--skip-head", "6.1", kText}, 2,
                "the block of --skip-head: expected a whole number from 0 to 5, found '6'");
  check_refused({"--identity-norm", "ln_1", kText}, 2, "--identity-norm: expected ln_1.N");
  check_refused({"--identity-norm", "ln_f.1", kText}, 2, "--identity-norm: expected ln_1.N");
  check_refused({"--identity-norm", kText}, 2, "or ln_f, found 'The cat sat. The cat'");
  check_refused(
      {"--patch", "The cat", kText}, 2,
      "--patch: expected TEXT@PLACE, such as 'The dog sat@block_output.2', found 'The cat'");
  check_refused({"--patch", "The cat@block_output.1", kText}, 2, "as many tokens as the other, 6");
  check_refused({"--patch", kText + "@block.1", kText}, 2, "--patch: expected a place such as");
  check_refused({"--patch", kText + "@embeddings.1", kText}, 2, "expected a place such as");
  check_refused(
      {"--patch", kText + "@block_output", kText}, 2,
      "expected a place such as block_output.0, mlp_output.2:5, embeddings or "
      "blocks.0.hook_resid_post, found 'block_output', which lacks the number of a block");
  check_refused({"--patch", kText + "@block_output.6", kText}, 2,
                "the block of --patch: expected a whole number from 0 to 5, found '6'");
  check_refused({"--patch", kText + "@embeddings:6", kText}, 2,
                "the token of --patch: expected a whole number from 0 to 5, found '6'");
}

TEST_CASE("--patch takes the names of TransformerLens's hooks") {
  const auto tokens = [](const std::string& place) {
    const Outcome outcome =
        inspect({"--json", "--no-attention", "--patch", "The dog ran. The man@" + place, kText});
    CAPTURE(place, outcome.err);
    REQUIRE(outcome.status == 0);
    return json::parse(outcome.out)["tokens"];
  };
  for (const auto& [hook, name] : std::vector<std::pair<std::string, std::string>>{
           {"blocks.0.hook_resid_pre:1", "embeddings:1"},
           {"blocks.3.hook_resid_pre:1", "block_output.2:1"},
           {"blocks.2.hook_resid_post:1", "block_output.2:1"},
           {"blocks.4.attn.hook_z", "head_outputs.4"},
           {"blocks.1.mlp.hook_post", "mlp_activations.1"},
           {"ln_final.hook_normalized", "ln_f_output"}}) {
    CAPTURE(hook);
    CHECK(tokens(hook) == tokens(name));
  }
  CHECK(tokens("blocks.2.hook_resid_pre:1") != tokens("blocks.2.hook_resid_post:1"));
  for (const std::string hook :
       {"hook_resid_post", "blocks.2.hook_resid_mid", "blocks.hook_embed"}) {
    check_refused({"--patch", kText + "@" + hook, kText}, 2, "expected a place such as");
  }
  check_refused({"--patch", kText + "@blocks.6.hook_resid_pre", kText}, 2,
                "the block of --patch: expected a whole number from 0 to 5, found '6'");
}

TEST_CASE("--patch of a hook_scale takes the scale of the other text, and keeps the mean") {
  struct Statistics {
    double mean = 0.0, rstd = 0.0;
  };
  // The statistics of the input of the first LayerNorm, by token: those of the embeddings.
  const auto of_embeddings = [](const std::string& text) {
    std::vector<Statistics> tokens;
    InspectOptions options;
    options.observer.wants = [](Observed what, std::size_t) {
      return what == Observed::embeddings;
    };
    options.observer.see = [&](const Observation& seen) {
      for (std::size_t i = 0; i < seen.rows; ++i) {
        const auto x = seen.row(i);
        const double n = static_cast<double>(x.size());
        const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
        double squares = 0.0;
        for (const float value : x) squares += (value - mean) * (value - mean);
        const double epsilon = bundled::model().config().layer_norm_epsilon;
        tokens.push_back({mean, 1.0 / std::sqrt(squares / n + epsilon)});
      }
    };
    const auto ids = bundled::tokenizer().encode(text);
    static_cast<void>(gpt2::inspect(Engine::shared(bundled::model()), ids, options));
    return tokens;
  };
  const std::string other = "The dog ran. The man";
  const auto ours = of_embeddings(kText), theirs = of_embeddings(other);
  const auto used = [&](const std::string& place) {
    const Outcome outcome =
        inspect({"--json", "--no-attention", "--patch", other + "@" + place, kText});
    CAPTURE(place, outcome.err);
    REQUIRE(outcome.status == 0);
    return json::parse(outcome.out)["norms"][0]["tokens"];
  };
  REQUIRE(ours.size() == theirs.size());
  const json scale = used("blocks.0.ln1.hook_scale"), all = used("ln_1_statistics.0");
  for (std::size_t t = 1; t < ours.size(); ++t) {
    CAPTURE(t);
    if (ours[t].mean == theirs[t].mean) continue;  // the same token
    CHECK(scale[t]["used_mean"].get<double>() == Approx(ours[t].mean).margin(1e-6));
    CHECK(scale[t]["used_rstd"].get<double>() == Approx(theirs[t].rstd).epsilon(1e-5));
    CHECK(all[t]["used_mean"].get<double>() == Approx(theirs[t].mean).margin(1e-6));
    CHECK(all[t]["used_rstd"].get<double>() == Approx(theirs[t].rstd).epsilon(1e-5));
  }
}

TEST_CASE("inspect --against compares with another model of the same vocabulary") {
  const std::string model = bundled::kDirectory.string();
  const json same =
      json::parse(inspect({"--json", "--no-attention", "--against", model, kText}).out);
  CHECK(same["compared_with"]["name"] == model);
  CHECK(same["compared_with"]["loss"] == same["loss"]);
  for (const json& norm : same["compared_with"]["distance"]) {
    for (const json& distance : norm) CHECK(distance == 0.0);
  }
  const std::string view = inspect({"-m", model, "--dtype", "int8", "--against", model, kText}).out;
  CHECK(view.find("\nthe same, as it is stored ") != std::string::npos);
  const std::string other = std::string(GPT2_TEST_DATA) + "/oracle/cases/tiny_default";
  check_refused({"--tokens", "--against", other, "1 2 3"}, 2,
                "--against: expected a model with the vocabulary of the other");
}

TEST_CASE("inspect --npz writes the activations under TransformerLens's names") {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "activations.npz";
  const Outcome outcome = inspect({"--npz", file.string(), kText});
  CHECK(outcome.status == 0);
  CHECK(outcome.out + outcome.err == "");
  const std::string archive = content(file);
  const ZipReader zip(std::as_bytes(std::span(archive)), "activations.npz");
  const Config& config = bundled::model().config();
  // Three of the model, thirteen of each block, the stream before each half but the first, and ids.
  CHECK(zip.files().size() == 3 + 13 * config.n_layer + 2 * config.n_layer - 1 + 1);
  for (const auto& [name, entry] : zip.files()) {
    CAPTURE(name);
    CHECK(text_of(zip.verified_content(name)).starts_with("\x93NUMPY\x01"));
  }
  // Returns the numbers of an array, whose header must have this shape.
  const auto array = [&](const std::string& name, const std::string& shape) {
    const Bytes bytes = zip.verified_content(name + ".npy");
    const std::size_t header = 10 + load_little_endian<std::uint16_t>(bytes, 8);
    CHECK(header % 64 == 0);
    CHECK(text_of(bytes.first(header)).find("'shape': " + shape) != std::string_view::npos);
    std::vector<float> values((bytes.size() - header) / sizeof(float));
    std::memcpy(values.data(), bytes.data() + header, bytes.size() - header);
    return values;
  };
  const std::vector<TokenId> ids = bundled::tokenizer().encode(kText);
  const Inspection found = gpt2::inspect(Engine::shared(bundled::model()), ids);
  CHECK(array("blocks.3.ln2.hook_scale", "(6, 1)")[4] == 1.0f / found.norms[7][4].rstd);
  const auto pattern = array("blocks.1.attn.hook_pattern", "(4, 6, 6)");
  CHECK(pattern[1] == 0.0f);
  CHECK(std::accumulate(pattern.end() - 6, pattern.end(), 0.0) == Approx(1.0).epsilon(1e-5));
  CHECK(array("blocks.1.attn.hook_z", "(6, 4, 64)").size() == 6 * config.n_embd);
  CHECK(array("blocks.5.mlp.hook_post", "(6, 1024)").size() == 6 * config.inner_dim());
  const auto before = array("blocks.2.hook_resid_pre", "(6, 256)");
  const auto added = array("blocks.2.hook_attn_out", "(6, 256)");
  const auto middle = array("blocks.2.hook_resid_mid", "(6, 256)");
  CHECK(before == array("blocks.1.hook_resid_post", "(6, 256)"));
  for (std::size_t i = 0; i < middle.size(); ++i) CHECK(middle[i] == before[i] + added[i]);
  check_refused({"--npz", "/nowhere/a.npz", kText}, 1, "/nowhere");
}

}  // namespace gpt2::test::inspect_test
