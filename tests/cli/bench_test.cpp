// Runs gpt2 bench as a process, on a model so small that it takes almost no time.
#include "support/alphabet_model.h"
#include "support/command.h"
#include "support/test.h"

namespace gpt2::test::bench_test {

namespace {

Words bench(const Words& more, const std::string& model = alphabet_model()) {
  return joined_words({"bench", "-m", model, "--repetitions", "1", "--threads", "1"}, more);
}

// What bench --json writes of the alphabet model in f32 and in int4.
const nlohmann::json& json_of_two_types() {
  static const auto json =
      nlohmann::json::parse(run(bench({"--json", "--dtype", "f32", "--dtype", "int4"})).out);
  return json;
}

}  // namespace

TEST_CASE("bench says what it measured, and which workloads are too long for the model") {
  const AlphabetModel files;
  const std::string model = files.name();
  const Words words = bench({"--dtype", "f32"}, model);
  // --threads wins over the environment.
  const std::string out = output_of(words, {.environment = {"OMP_NUM_THREADS=3"}});
  CAPTURE(out);
  CHECK(out.starts_with(model + ", 1 thread"));
  for (const std::string part :
       {"\nf32 weights, keys and values in f32; the machine's limits:\n",
        "\n  reading a prompt of 16 tokens ", "\n  writing after 16 tokens ",
        "\n  reading a prompt of 512 tokens skipped: needs 512 positions, the model has 64\n",
        "\n  writing 8 texts at once ", "\n  writing 32 texts at once ", " tokens/s ",
        " min .. max ", "FLOP/s ", " limit\n"}) {
    CAPTURE(part);
    CHECK(contains(out, part));
  }
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    if (!line.starts_with('/')) CHECK(line.size() <= 80);  // the path of the model may be long
    CHECK(line.find(" 0 ") == line.npos);
  }
  if (is_slow()) return;  // a sanitizer finds nothing more here
  const auto rows = nlohmann::json::parse(run(joined_words(words, {"--json"})).out)["measurements"];
  REQUIRE(rows.size() == 6);
  CHECK(rows[0]["tokens_per_s"] > 0.0);
  CHECK_FALSE(rows[0].contains("skipped"));
  CHECK(rows[3]["skipped"] == "needs 528 positions, the model has 64");
}

TEST_CASE("bench --json gives programs the same facts, of a quantized model in its own weights") {
  if (is_slow()) return;  // a sanitizer finds nothing more here
  const auto& json = json_of_two_types();
  CHECK(json["model"] == alphabet_model());
  CHECK(json["threads"] == 1);
  CHECK("gpt2 " + json["version"].get<std::string>() + "\n" == run({"--version"}).out);
  REQUIRE(json["measurements"].size() == 12);
  REQUIRE(json["limits"].size() == 2);
  CHECK(json["limits"][1]["dtype"] == "int4");
  CHECK(json["limits"][1]["bytes_per_s"] > 0.0);
  const auto& last = json["measurements"][5];
  CHECK(last["phase"] == "decode");
  CHECK(last["sequences"] == 32);
  CHECK(last["tokens"] == 8);
  CHECK(last["context"] == 16);
  CHECK(json["measurements"][1]["phase"] == "prompt");
  CHECK(json["measurements"][6]["dtype"] == "int4");
  for (const auto& row : json["measurements"]) {
    for (const char* const rate : {"tokens_per_s", "bytes_per_s", "flop_per_s"}) {
      CHECK(row[rate] > 0.0);
    }
    CHECK((row["int8_op_per_s"] > 0.0) == (row["dtype"] == "int4"));
    CHECK(row["kv_type"] == (row["dtype"] == "int4" ? "f16" : "f32"));
    CHECK((row["of_limit"].is_null() || (row["of_limit"] > 0.0 && row["of_limit"] <= 1.0)));
    CHECK(row["min"] <= row["tokens_per_s"]);
    CHECK(row["tokens_per_s"] <= row["max"]);
  }
  const AlphabetModel model;
  const std::string quantized = model.name() + "/quantized";
  REQUIRE(run({"quantize", model.name(), quantized, "--dtype", "int4"}).status == 0);
  const auto own = nlohmann::json::parse(run(bench({"--json"}, quantized)).out);
  REQUIRE(own["limits"].size() == 1);
  CHECK(own["limits"][0]["dtype"] == "int4");
}

TEST_CASE("bench tells in which order weights are read, if they are large enough") {
  if (is_slow()) return;  // a sanitizer finds nothing more here
  const auto json =
      nlohmann::json::parse(run(bench({"--dtype", "f32", "--json"}, "gpt2-stories")).out);
  if (json["isa"] == "scalar") {  // has only one order
    CHECK(json["walks"].empty());
    return;
  }
  // Of one row c_attn, attn.c_proj, c_fc, mlp.c_proj and wte, and of several rows wte.
  REQUIRE(json["walks"].size() == 6);
  std::size_t of_one_row = 0;
  for (const auto& row : json["walks"]) {
    CHECK(row["dtype"] == "f32");
    CHECK(row["k"].get<std::size_t>() * row["n"].get<std::size_t>() >= 256 * 256);
    of_one_row += row["single_row"] == true ? 1 : 0;
    CHECK(row["walk"] != "");
    CHECK(row["gain"] > 0.0);
  }
  CHECK(of_one_row == 5);
  CHECK(json_of_two_types()["walks"].empty());
}

}  // namespace gpt2::test::bench_test
