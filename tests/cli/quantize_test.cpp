// Runs gpt2 quantize as a process.
#include <chrono>
#include <csignal>
#include <regex>
#include <stdexcept>
#include <thread>

#include "base/system/process.h"
#include "gpt2/model.h"
#include "support/alphabet_model.h"
#include "support/command.h"
#include "support/test.h"
#include "support/torch_file.h"

namespace gpt2::test::quantize_test {

namespace fs = std::filesystem;

namespace {

const std::string kModel = std::string(GPT2_MODELS_DIR) + "/gpt2-stories";

// Returns the path of a short text to measure the perplexity on. The default text takes long, under
// a sanitizer even minutes.
std::string story() {
  static const TemporaryDirectory place;
  place.write("story", "Once upon a time there was a cat. The cat was very happy.");
  return (place.path() / "story").string();
}

// Checks that quantize refuses to write `out`, and that its message names it and the reason.
void check_refused(const std::string& out, const std::string& reason) {
  const std::string name = out.substr(0, out.find_last_not_of('/') + 1);
  test::check_refused({"quantize", "no-such-model", out}, 1, {"gpt2: " + name, reason});
}

}  // namespace

TEST_CASE("quantize writes a model that loads, prints the cost, and copies the tokenizer") {
  const TemporaryDirectory place;
  const fs::path source = place.path() / "model";
  fs::copy(kModel, source);
  fs::create_directory(source / "sub.json");
  std::error_code ignored;  // Windows lets few users make links
  fs::create_symlink("/nowhere", source / "notes.txt", ignored);
  const std::string out = (place.path() / "out").string();
  for (const std::string dtype : {"int4", "int8"}) {
    if (is_slow() && dtype == "int8") continue;
    const std::string report = output_of(
        {"quantize", source.string(), out + dtype + "/", "--dtype", dtype, "--text", story()});
    CHECK(contains(report, " MB -> "));
    CHECK(contains(report, "perplexity "));
    CHECK(read_bytes(out + dtype + "/vocab.json") == read_bytes(kModel + "/vocab.json"));
    const Outcome text = run({"-m", out + dtype, "--max-new-tokens", "20", "--stats", "Once"});
    CHECK(text.status == 0);
    // The text and the logits are the same as if the model is quantized whenever it is loaded.
    const Outcome quantized =
        run({"-m", kModel, "--dtype", dtype, "--max-new-tokens", "20", "--stats", "Once"});
    CHECK(text.out == quantized.out);
    CHECK(hash_in(text.err) == hash_in(quantized.err));
  }
  CHECK(std::distance(fs::directory_iterator(place.path()), {}) == (is_slow() ? 2 : 3));
}

TEST_CASE("quantize measures its cost on a text, which may be its own") {
  const TemporaryDirectory place;
  const std::string model = (place.path() / "model").string();
  write_alphabet_model(model, 64);
  int count = 0;
  const auto quantize = [&](const std::string& file) {
    Words words = {"quantize", model, (place.path() / std::to_string(++count)).string(), "--quiet"};
    if (!file.empty()) words.insert(words.end(), {"--text", file});
    return run(words);
  };
  // Each token reads lm_head, whose 257 columns are padded to 288 if they are quantized, and the
  // 6 * 64 columns of the other matrices. A column of 64 weights takes 64 * 4 bytes in f32, and 66
  // bytes in int8, which has one f16 scale for 64 weights.
  const std::string number = R"(\S+ -> \S+ \([+-]\d+\.\d+ %)";
  const std::string error = R"( \+- \d+\.\d+ %)";
  const std::string begin =
      R"([^\n]+\neach token   reads 164.1 KB -> 44.4 KB of weights \(-73.0 %\))"
      "\nperplexity   " +
      number;
  CHECK(std::regex_match(quantize("").out,
                         std::regex(begin + error + R"(\) on \d+ tokens in \d\d+ windows\n)")));
  const std::string text = "abcdefghijklmnopqrstuvwxyz \u00e9abcdefghijklmnopqrst";
  CHECK(std::regex_match(quantize(place.write("text", text).string()).out,
                         std::regex(begin + R"(\) on 48 tokens in 1 window\n)")));
  for (const std::string short_text : {"", "a"}) {
    const std::string file = place.write("short", short_text).string();
    test::check_refused({"quantize", model, model + "/out", "--text", file}, 1,
                        {"--text " + file, "found " + std::to_string(short_text.size())});
  }
  place.write("model/added_tokens.json", R"({"<more>": 257})");
  CHECK(contains(quantize(place.write("text", "a<more>b").string()).out, "not measured"));
  write_alphabet_model(model, 1);  // predicts nothing
  CHECK(quantize("").err.find("two positions") != std::string::npos);
}

TEST_CASE("quantize turns nanoGPT's ckpt.pt, with or without biases, into a HuggingFace model") {
  const fs::path weights = fs::path(GPT2_TEST_DATA) / "oracle/cases/act_gelu";
  for (const bool bias : {true, false}) {
    const TemporaryDirectory place;
    place.write("ckpt.pt", nanogpt_file(weights, {.vocab_size = 256, .bias = bias}));
    const std::string source = place.path().string(), out = source + "/out";
    const Outcome outcome = run({"quantize", source, out});
    CHECK(outcome.err.find("--tokenizer") != std::string::npos);
    REQUIRE(outcome.status == 0);
    const Words words = {"--tokens", "--greedy", "--stats", "-n", "20", "1 207", "-m"};
    const Outcome saved = run(joined_words(words, {out}));
    const Outcome quantized = run(joined_words(words, {source, "--dtype", "int8"}));
    CHECK(saved.status == 0);
    CHECK(saved.out == quantized.out);
    CHECK(hash_in(saved.err) == hash_in(quantized.err));
  }
}

TEST_CASE("quantize writes the tokenizer and settings that the model or --tokenizer has") {
  const TemporaryDirectory place;
  const std::string model = (place.path() / "model").string(), out = model + "8";
  const std::string other = (place.path() / "other").string();
  write_alphabet_model(model);
  write_alphabet_model(other);
  // The settings of an older model are in its config.
  nlohmann::json config = nlohmann::json::parse(read_bytes(model + "/config.json"));
  config["max_length"] = 5;
  place.write("model/config.json", config.dump());
  place.write("other/tokenizer_config.json", R"({"split_special_tokens": false})");
  fs::remove(model + "/merges.txt");
  fs::rename(model + "/vocab.json", model + "/added_tokens.json");  // is not copied
  test::check_refused({"quantize", model, out, "--tokenizer", kModel}, 1,
                      {"does not belong to the model", "vocab.json"});
  test::check_refused({"quantize", model, out, "--tokenizer", "nowhere"}, 1, {"nowhere"});
  CHECK(std::distance(fs::directory_iterator(place.path()), {}) == 2);
  const Words words = {"quantize", model, out, "--tokenizer", other, "--text", story()};
  CHECK(contains(output_of(words), "tokens in"));
  for (const char* const name : {"vocab.json", "merges.txt", "tokenizer_config.json"}) {
    CHECK(read_bytes(out + '/' + name) == read_bytes(other + '/' + name));
  }
  CHECK_FALSE(fs::exists(out + "/added_tokens.json"));
  CHECK(run({"-m", out, "--hf-defaults", "abc"}).out == "abcde\n");
}

// model_test tries all types.
TEST_CASE("weights that are already quantized cannot be converted to another type") {
  const TemporaryDirectory place;
  const std::string quantized = (place.path() / "quantized").string();
  REQUIRE(run({"quantize", alphabet_model(), quantized, "--text", story()}).status == 0);
  for (const Words& arguments :
       {Words{"-m", quantized, "--dtype", "int4", "a"}, {"quantize", quantized, quantized + "8"}}) {
    test::check_refused(arguments, 2, {"--dtype: " + quantized, " already: "});
  }
  CHECK(std::distance(fs::directory_iterator(place.path()), {}) == 1);
}

TEST_CASE("quantize refuses before the work what it could not write, and leaves nothing behind") {
  const TemporaryDirectory place;
  const std::string text = place.write("text.txt", "a").string();
  CHECK(run({"quantize", kModel, ""}).status == 2);
  check_refused(text + "/new/out", text);
  check_refused(text, "exists already");
  CHECK(std::distance(fs::directory_iterator(place.path()), {}) == 1);
}

TEST_CASE("quantize writes through links that lead to nothing, but not into them", "[posix]") {
  for (const std::string target : {"below/first", "target/"}) {
    const TemporaryDirectory place;
    const std::string link = (place.path() / "link").string();
    fs::create_directory(place.path() / "below");
    fs::create_symlink("../target", place.path() / "below/first");
    fs::create_symlink(target, link);
    check_refused(link + "/new/out", link);
    CHECK(run({"quantize", alphabet_model(), link + "/", "--text", story()}).status == 0);
    CHECK(fs::is_symlink(link));
    CHECK(fs::is_symlink(place.path() / "below/first"));
    CHECK(fs::exists(place.path() / "target/model.safetensors"));
    CHECK(std::distance(fs::directory_iterator(place.path()), {}) == 3);
    check_refused(link, "exists already");
    fs::create_symlink("loop", place.path() / "loop");
    check_refused((place.path() / "loop").string(), "exists already");
  }
}

TEST_CASE("quantize refuses NaN weights, and quantizing at load keeps them NaN") {
  const TemporaryDirectory place;
  const fs::path source = place.path() / "model";
  fs::copy(kModel, source);
  // Write F16 NaNs over the last 2000 bytes of the file, which belong to some matrix or vector.
  std::fstream file(source / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-2000, std::ios::end);
  for (int i = 0; i < 1000; ++i) file.write("\xff\x7f", 2);
  file.close();
  const std::string out = (place.path() / "out").string();
  test::check_refused({"quantize", source.string(), out, "--text", story()}, 1,
                      {"found NaN or infinity"});
  CHECK_FALSE(fs::exists(out));
  for (const std::string dtype : {"f16", "int8", "int4"}) {
    CHECK(contains(run({"-m", source.string(), "--dtype", dtype, "Once"}).err, "contain NaN"));
  }
}

TEST_CASE("if saving a quantized model is abandoned half-way, nothing is left behind") {
  const TemporaryDirectory place;
  const gpt2::Model model = gpt2::Model::load(kModel, {.dtype = gpt2::WeightType::int8});
  // The parent directories that it made are removed as well. Those that existed before stay, even
  // if they are empty.
  fs::create_directory(place.path() / "old");
  const fs::path parent = place.path() / "old/new/newer";
  for (const int last : {1, 20}) {
    const auto abandon = [&, calls = 0](double) mutable {
      if (++calls == last) throw std::runtime_error("enough");
    };
    CHECK_THROWS_AS(gpt2::save_quantized(model, kModel, parent / "out", abandon),
                    std::runtime_error);
    CHECK(fs::is_empty(place.path() / "old"));
  }
  // The leftovers of a killed process with the same id are removed.
  const fs::path left = parent / ("out.partial-" + std::to_string(gpt2::process_id()));
  fs::create_directories(left);
  std::ofstream(left / "vocab.json") << "half of";
  gpt2::save_quantized(model, kModel, parent / "out", [](double) {});
  CHECK(std::distance(fs::directory_iterator(parent), {}) == 1);
  CHECK(read_bytes(parent / "out/vocab.json") == read_bytes(kModel + "/vocab.json"));
}

TEST_CASE("Ctrl-C while quantize writes leaves a whole model or nothing") {
  for (const int signal : Command::signals()) {
    if (is_slow() && signal != SIGINT) continue;
    const TemporaryDirectory place;
    const fs::path out = place.path() / "out";
    Command command({"quantize", kModel, out.string(), "--dtype", "int4", "--text", story()});
    const auto is_writing = [&] {
      std::error_code error;
      for (fs::directory_iterator it(place.path(), error), end; it != end; it.increment(error)) {
        if (fs::exists(it->path() / "model.safetensors", error)) return true;
      }
      return false;
    };
    while (!is_writing() && command.running())
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    command.send(signal);
    const int status = command.wait();
    CAPTURE(command.err);
    CHECK((status == 0 || status == -signal));
    // If the signal arrives after the last check, it ends the process although OUT is complete.
    const bool is_written = command.err.empty();
    CHECK((is_written || status == -signal));
    CHECK(fs::exists(out / "model.safetensors") == is_written);
    CHECK(std::distance(fs::directory_iterator(place.path()), {}) == (is_written ? 1 : 0));
    if (!is_written) {
      CHECK(command.err == "gpt2: interrupted; " + out.string() + " was not written\n");
    }
  }
}

}  // namespace gpt2::test::quantize_test
