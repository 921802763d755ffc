#include "formats/safetensors.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "base/file_source.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "support/bytes.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace gpt2::test::safetensors_test {

namespace {

std::string file_of(const std::string& header, const std::string& data = "") {
  return little_endian<std::uint64_t>(header.size()) + header + data;
}

std::string refusal_of_file(const std::string& file) {
  return refusal_of([&] { (void)gpt2::parse_safetensors(as_bytes(file), "f"); });
}

std::string refusal(const std::string& header, const std::string& data = "") {
  return refusal_of_file(file_of(header, data));
}

// Returns a header with one tensor 'a' that has these fields.
std::string with_fields(const std::string& fields) { return "{\"a\":{" + fields + "}}"; }

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

const std::string kF32 = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";

}  // namespace

TEST_CASE("tensors are read in place where their offsets say, at any alignment") {
  // The header has 107 bytes, so the data begins at byte 115.
  const std::string header =
      "{" + entry("b", "F16", "[2,1]", "[4,8]") + "," + entry("a", "F32", "[]", "[0,4]") + "}";
  const std::string file = file_of(header, "1234abcd");
  const gpt2::TensorTable tensors = gpt2::parse_safetensors(as_bytes(file), "f");
  REQUIRE(tensors.size() == 2);
  const gpt2::TensorView& a = tensors.at("a");
  CHECK(a.dtype == DType::f32);
  CHECK(a.shape == Shape{});
  CHECK(a.bytes == 4);
  CHECK(reinterpret_cast<const char*>(a.data) == file.data() + 8 + header.size());
  const gpt2::TensorView& b = tensors.at("b");
  CHECK(b.dtype == DType::f16);
  CHECK(b.shape == Shape{2, 1});
  CHECK(std::memcmp(b.data, "abcd", 4) == 0);
}

TEST_CASE("the size of every dtype of the format follows from its bits") {
  const std::map<std::string, std::pair<DType, std::size_t>> bytes_of_eight = {
      {"BOOL", {DType::boolean, 8}},    {"F4", {DType::f4, 4}},
      {"F6_E2M3", {DType::f6_e2m3, 6}}, {"F6_E3M2", {DType::f6_e3m2, 6}},
      {"U8", {DType::u8, 8}},           {"I8", {DType::i8, 8}},
      {"F8_E5M2", {DType::f8_e5m2, 8}}, {"F8_E4M3", {DType::f8_e4m3, 8}},
      {"F8_E8M0", {DType::f8_e8m0, 8}}, {"F8_E4M3FNUZ", {DType::f8_e4m3fnuz, 8}},
      {"I16", {DType::i16, 16}},        {"F8_E5M2FNUZ", {DType::f8_e5m2fnuz, 8}},
      {"U16", {DType::u16, 16}},        {"F16", {DType::f16, 16}},
      {"BF16", {DType::bf16, 16}},      {"I32", {DType::i32, 32}},
      {"U32", {DType::u32, 32}},        {"F32", {DType::f32, 32}},
      {"C64", {DType::c64, 64}},        {"F64", {DType::f64, 64}},
      {"I64", {DType::i64, 64}},        {"U64", {DType::u64, 64}},
  };
  CHECK(bytes_of_eight.size() == 22);
  for (const auto& [name, dtype_and_bytes] : bytes_of_eight) {
    const auto& [dtype, bytes] = dtype_and_bytes;
    CAPTURE(name);
    const std::string header =
        "{" + entry("a", name, "[8]", "[0," + std::to_string(bytes) + "]") + "}";
    const std::string file = file_of(header, std::string(bytes, 'x'));
    const gpt2::TensorTable tensors = gpt2::parse_safetensors(as_bytes(file), "f");
    CHECK(tensors.at("a").dtype == dtype);
    CHECK(tensors.at("a").bytes == bytes);
    CHECK(gpt2::name_of(dtype) == name);
  }
}

TEST_CASE("everything that the format allows is accepted") {
  const auto count = [](const std::string& file) {
    return gpt2::parse_safetensors(as_bytes(file), "f").size();
  };
  CHECK(count(file_of("{}")) == 0);
  CHECK(count(file_of(R"({"__metadata__":{"format":"pt"}})")) == 0);
  CHECK(count(file_of(R"({"__metadata__":null})")) == 0);
  CHECK(count(file_of(" \n" + with_fields(kF32) + "   ", "1234")) == 1);
  CHECK(count(file_of(with_fields(kF32 + R"(,"more":[{"x":[1,{}]},null,-1.5,"y"])"), "1234")) == 1);
  CHECK(count(file_of("{" + entry("a", "F32", "[0,7]", "[0,0]") + "," +
                          entry("b", "F32", "[1]", "[0,4]") + "," +
                          entry("c", "F32", "[0]", "[4,4]") + "}",
                      "1234")) == 3);
  // The values may be anything, such as a NaN, because the reader does not look at them.
  CHECK(count(file_of(with_fields(kF32), std::string("\x01\x00\x80\x7f", 4))) == 1);
}

TEST_CASE("refused: a git-lfs pointer") {
  CHECK(refusal_of_file("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n") ==
        "f: a git-lfs pointer in place of the weights; fetch them with 'git lfs pull'");
}

TEST_CASE("refused: a file too small for the header's length") {
  CHECK(refusal_of_file("1234567") == "f: has only 7 bytes; expected weights: download it again");
  CHECK(refusal_of_file("") == "f: has only 0 bytes; expected weights: download it again");
}

TEST_CASE("refused: a header longer than 100,000,000 bytes, however long the file is") {
  CHECK(
      refusal_of_file(little_endian<std::uint64_t>(100'000'001)) ==
      "f: not a file of weights: not one that torch.save wrote, and as safetensors the header would "
      "have 100000001 bytes; "
      "expected at most 100000000");
  CHECK(refusal_of_file(little_endian(~std::uint64_t{0})).find("would have 18446744073709551615") !=
        std::string::npos);
}

TEST_CASE("refused: a file that ends inside its header") {
  CHECK(refusal_of_file(little_endian<std::uint64_t>(100'000'000) + "{}") ==
        "f: the header has 100000000 bytes, but the file ends after 2 of them; download it again");
}

TEST_CASE("refused: a header that is not UTF-8, before any other error is reported") {
  CHECK(refusal("{\"\xff\":") == "f: the header is not UTF-8 at byte 10");
  CHECK(refusal("\xef\xbb\xbf{}") == "f: begins with a byte order mark; remove it");
}

TEST_CASE("refused: a header that is not JSON") {
  CHECK(refusal("").find("f: invalid JSON at column 1") == 0);
  CHECK(refusal("{\"a\":}").find("f: invalid JSON at column 6") == 0);
  CHECK(refusal("{}x").find("f: invalid JSON") == 0);
}

TEST_CASE("refused: a header that does not follow the schema") {
  const std::map<std::string, std::string> messages = {
      {"[1]", "f: the header is an array; expected an object"},
      {"1", "f: the header is 1; expected an object"},
      {R"({"__metadata__":[]})", "f: __metadata__ is an array; expected an object"},
      {R"({"__metadata__":"x"})", "f: __metadata__ is 'x'; expected an object"},
      {R"({"__metadata__":{"n":1}})", "f: __metadata__: holds 1; expected only strings"},
      {R"({"__metadata__":{"n":{}}})", "f: __metadata__: holds an object; expected only strings"},
      {R"({"a":null})", "f: tensor 'a' is null; expected an object"},
      {R"({"a":["F32",[1],[0,4]]})", "f: tensor 'a' is an array; expected an object"},
      {with_fields(R"("dtype":1)"), "f: tensor 'a': dtype is 1; expected a string"},
      {with_fields(R"("dtype":{"F32":null})"),
       "f: tensor 'a': dtype is an object; expected a string"},
      {with_fields(R"("dtype":"F33")"),
       "f: tensor 'a': dtype is 'F33'; expected a type of the format, such as 'F32'"},
      {with_fields(R"("dtype":"f32")"),
       "f: tensor 'a': dtype is 'f32'; expected a type of the format, such as 'F32'"},
      {with_fields(R"("dtype":"F32","shape":4)"), "f: tensor 'a': shape is 4; expected an array"},
      {with_fields(R"("dtype":"F32","shape":{})"),
       "f: tensor 'a': shape is an object; expected an array"},
      {with_fields(R"("dtype":"F32","shape":[-1])"),
       "f: tensor 'a': shape holds -1; expected whole numbers"},
      {with_fields(R"("dtype":"F32","shape":[1.0])"),
       "f: tensor 'a': shape holds 1.0; expected whole numbers"},
      {with_fields(R"("dtype":"F32","shape":["1"])"),
       "f: tensor 'a': shape holds '1'; expected whole numbers"},
      {with_fields(R"("dtype":"F32","shape":[[1]])"),
       "f: tensor 'a': shape holds an array; expected whole numbers"},
      {with_fields(R"("dtype":"F32","shape":[18446744073709551616])"),
       "f: tensor 'a': shape holds 1.8446744073709552e+19; expected whole numbers"},
      {with_fields(R"("dtype":"F32","shape":[1],"data_offsets":[null,4])"),
       "f: tensor 'a': data_offsets holds null; expected whole numbers"},
      {with_fields(R"("dtype":"F32","shape":[1],"data_offsets":[0])"),
       "f: tensor 'a': data_offsets has 1 numbers; expected begin and end"},
      {with_fields(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,8])"),
       "f: tensor 'a': data_offsets has 3 numbers; expected begin and end"},
      {with_fields(R"("shape":[1],"data_offsets":[0,4])"),
       "f: tensor 'a': dtype is missing; expected a string"},
      {with_fields(R"("dtype":"F32","data_offsets":[0,4])"),
       "f: tensor 'a': shape is missing; expected an array"},
      {with_fields(R"("dtype":"F32","shape":[1])"),
       "f: tensor 'a': data_offsets is missing; expected an array"},
      {with_fields(kF32 + R"(,"dtype":"F32")"), "f: key 'dtype' appears twice in one object"},
      {with_fields(kF32 + R"(,"shape":[1])"), "f: key 'shape' appears twice in one object"},
      {with_fields(kF32 + R"(,"data_offsets":[0,4])"),
       "f: key 'data_offsets' appears twice in one object"},
  };
  for (const auto& [header, message] : messages) {
    CAPTURE(header);
    CHECK(refusal(header, "1234") == message);
  }
}

TEST_CASE("refused: a name that appears twice (the reference takes the last one)") {
  CHECK(refusal("{\"a\":{" + kF32 + "},\"b\":{" + kF32 + "},\"a\":{" + kF32 + "}}", "1234") ==
        "f: key 'a' appears twice in one object");
}

TEST_CASE("refused: data that begins after zero, or has a hole, an overlap or a negative size") {
  CHECK(
      refusal("{" + entry("a", "F32", "[1]", "[4,8]") + "}", "12345678") ==
      "f: tensor 'a': data_offsets are [4, 8]; expected them to begin at 0, where the data before "
      "ends");
  const auto second = [](const std::string& offsets) {
    return refusal(
        "{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "F32", "[1]", offsets) + "}",
        "12345678");
  };
  CHECK(second("[5,9]").find(
            "f: tensor 'b': data_offsets are [5, 9]; expected them to begin at 4") == 0);
  CHECK(second("[3,7]").find(
            "f: tensor 'b': data_offsets are [3, 7]; expected them to begin at 4") == 0);
  CHECK(second("[4,3]").find("f: tensor 'b': data_offsets are [4, 3]") == 0);
}

TEST_CASE("refused: a size that overflows, even if a later dimension is zero") {
  for (const char* shape : {"[4294967296,4294967296]", "[4611686018427387904,4]",
                            "[576460752303423488]", "[4294967296,4294967296,0]"}) {
    const std::string message = refusal("{" + entry("a", "F32", shape, "[0,4]") + "}", "1234");
    CHECK(message.find("takes more bytes than can be counted") != std::string::npos);
  }
}

TEST_CASE("refused: a tensor that does not end at a byte boundary") {
  CHECK(refusal("{" + entry("a", "F4", "[3]", "[0,2]") + "}", "12") ==
        "f: tensor 'a': F4 of shape [3] does not end at a whole byte");
}

TEST_CASE("refused: offsets that do not match the shape's size") {
  CHECK(refusal("{" + entry("a", "F32", "[2,2]", "[0,12]") + "}", "123456789012") ==
        "f: tensor 'a': F32 of shape [2, 2] takes 16 bytes, but data_offsets enclose 12");
}

TEST_CASE("refused: data that is cut short, with the tensor named, and data left over") {
  const std::string header =
      "{" + entry("b", "F32", "[1]", "[0,4]") + "," + entry("a", "F32", "[2]", "[4,12]") + "}";
  CHECK(
      refusal(header, "12345678") ==
      "f: the file ends inside tensor 'a', after 8 bytes of data; expected 12; download it again");
  CHECK(refusal(header, "123456789012345") == "f: 3 bytes follow the last tensor");
}

TEST_CASE("refused: names, ranks and tensor counts past the limits") {
  const auto named = [](std::size_t length) {
    return refusal("{" + entry(std::string(length, 'n'), "F32", "[1]", "[0,4]") + "}", "1234");
  };
  CHECK(named(1024) == "(accepted)");
  CHECK(named(1025).find("a name of 1025 bytes; expected at most 1024") != std::string::npos);

  const auto ranked = [](const std::string& shape) {
    return refusal("{" + entry("a", "F32", shape, "[0,4]") + "}", "1234");
  };
  CHECK(ranked("[1,1,1,1,1,1,1,1]") == "(accepted)");
  CHECK(ranked("[1,1,1,1,1,1,1,1,1]") == "f: tensor 'a': shape has more than 8 numbers");

  const auto counted = [](std::size_t count) {
    std::string header = "{";
    for (std::size_t i = 0; i < count; ++i) {
      header += (i ? "," : "") + entry(std::to_string(i), "F32", "[0]", "[0,0]");
    }
    return refusal(header + "}");
  };
  CHECK(counted(100'000) == "(accepted)");
  CHECK(counted(100'001) == "f: the header: more than 100000 tensors");

  std::string values = with_fields(kF32 + ",\"more\":[0");
  values.resize(values.size() - 2);
  for (int i = 0; i < 1'600'000; ++i) values += ",0";
  CHECK(refusal(values + "]}}", "1234") == "f: JSON of more than 1600000 values");
}

TEST_CASE("messages show names and values from a header without control characters") {
  const std::string bad = R"(a\u001b[2J\u000a)";
  const std::string shown = R"('a\x1b[2J\x0a')";
  CHECK(refusal("{" + entry(bad, "F32", "[1]", "[0,5]") + "}", "12345")
            .starts_with("f: tensor " + shown + ": F32 of shape [1] takes 4 bytes"));
  CHECK(refusal("{" + entry("a", bad, "[1]", "[0,4]") + "}", "1234") ==
        "f: tensor 'a': dtype is " + shown + "; expected a type of the format, such as 'F32'");
  CHECK(refusal("{\"" + bad + "\":1,\"" + bad + "\":1}") ==
        "f: key " + shown + " appears twice in one object");
}

TEST_CASE("verdicts and reasons are those of the reference reader") {
  const std::map<std::string, std::string> our_words = {
      {"HeaderTooSmall", "expected weights: download it again"},
      {"HeaderTooLarge", "the header would have"},
      {"InvalidHeaderLength", "but the file ends after"},
      {"InvalidHeader", "the header is not UTF-8"},
      {"InvalidHeaderDeserialization", ""},
      {"InvalidOffset(\"a\")", "tensor 'a': data_offsets are"},
      {"InvalidOffset(\"b\")", "tensor 'b': data_offsets are"},
      {"ValidationOverflow", "takes more bytes than can be counted"},
      {"TensorInvalidInfo", "but data_offsets enclose"},
  };
  const std::filesystem::path folder =
      std::filesystem::path(GPT2_TEST_DATA) / "oracle/safetensors_verdicts";
  const auto verdicts =
      gpt2::parse_json(gpt2::read_file(folder / "verdicts.json", 1 << 20), "verdicts.json");
  std::size_t compared = 0;
  for (const auto& item : verdicts.root.at("files").items()) {
    const std::string name = item.key();
    const auto& verdict = item.value();
    CAPTURE(name);
    const gpt2::MappedFile file(folder / name);
    const std::string message =
        refusal_of([&] { (void)gpt2::parse_safetensors(file.bytes(), name); });
    CAPTURE(message);
    const std::string says = verdict.at("says");
    if (name == "dup_name.safetensors") {
      CHECK(message == name + ": key 'a' appears twice in one object");  // stricter on purpose
    } else if (verdict.at("accepted") == true) {
      CHECK(message == "(accepted)");
    } else if (says == "MetadataIncompleteBuffer") {
      CHECK((message.find("the file ends inside tensor 'a'") != std::string::npos ||
             message.find("bytes follow the last tensor") != std::string::npos));
    } else {
      CHECK(message.find(our_words.at(says)) != std::string::npos);
      CHECK(message != "(accepted)");
    }
    ++compared;
  }
  CHECK(compared == 45);
}

}  // namespace gpt2::test::safetensors_test
