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

void refused_file(const std::string& file, std::string_view fact) {
  check_refused([&] { (void)parse_safetensors(as_bytes(file), "f"); }, {"f: ", fact});
}

void refused(const std::string& header, std::string_view fact, const std::string& data = "1234") {
  CAPTURE(header);
  refused_file(file_of(header, data), fact);
}

std::size_t accepted(const std::string& header, const std::string& data = "1234") {
  const std::string file = file_of(header, data);
  return parse_safetensors(as_bytes(file), "f").size();
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
  const TensorTable tensors = parse_safetensors(as_bytes(file), "f");
  REQUIRE(tensors.size() == 2);
  const TensorView& a = tensors.at("a");
  CHECK(a.dtype == DType::f32);
  CHECK(a.shape == Shape{});
  CHECK(a.bytes == 4);
  CHECK(reinterpret_cast<const char*>(a.data) == file.data() + 8 + header.size());
  const TensorView& b = tensors.at("b");
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
    const TensorTable tensors = parse_safetensors(as_bytes(file), "f");
    CHECK(tensors.at("a").dtype == dtype);
    CHECK(tensors.at("a").bytes == bytes);
    CHECK(gpt2::name_of(dtype) == name);
  }
}

TEST_CASE("everything that the format allows is accepted") {
  CHECK(accepted("{}", "") == 0);
  CHECK(accepted(R"({"__metadata__":{"format":"pt"}})", "") == 0);
  CHECK(accepted(R"({"__metadata__":null})", "") == 0);
  CHECK(accepted(" \n" + with_fields(kF32) + "   ") == 1);
  CHECK(accepted(with_fields(kF32 + R"(,"more":[{"x":[1,{}]},null,-1.5,"y"])")) == 1);
  CHECK(accepted("{" + entry("a", "F32", "[0,7]", "[0,0]") + "," +
                 entry("b", "F32", "[1]", "[0,4]") + "," + entry("c", "F32", "[0]", "[4,4]") +
                 "}") == 3);
  // The values may be anything, such as a NaN, because the reader does not look at them.
  CHECK(accepted(with_fields(kF32), std::string("\x01\x00\x80\x7f", 4)) == 1);
}

TEST_CASE("refused: a file that is no safetensors file, or ends inside its header") {
  refused_file("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "git-lfs");
  refused_file("1234567", "has only 7 bytes");
  refused_file("", "has only 0 bytes");
  // A header may have 100,000,000 bytes, however long the file is.
  refused_file(little_endian<std::uint64_t>(100'000'001), "100000001 bytes");
  refused_file(little_endian(~std::uint64_t{0}), "18446744073709551615 bytes");
  refused_file(little_endian<std::uint64_t>(100'000'000) + "{}", "ends after 2 of them");
}

TEST_CASE("refused: a header that is not JSON in UTF-8") {
  refused("{\"\xff\":", "not UTF-8 at byte 10");  // before any other error is reported
  refused("\xef\xbb\xbf{}", "byte order mark");
  refused("", "invalid JSON at column 1");
  refused("{\"a\":}", "invalid JSON at column 6");
  refused("{}x", "invalid JSON");
}

TEST_CASE("refused: a header that does not follow the schema") {
  const std::pair<const char*, const char*> headers[] = {
      {"[1]", "the header is an array"},
      {"1", "the header is 1"},
      {R"({"__metadata__":[]})", "__metadata__ is an array"},
      {R"({"__metadata__":"x"})", "__metadata__ is 'x'"},
      {R"({"__metadata__":{"n":1}})", "__metadata__: holds 1"},
      {R"({"__metadata__":{"n":{}}})", "__metadata__: holds an object"},
      {R"({"a":null})", "tensor 'a' is null"},
      {R"({"a":["F32",[1],[0,4]]})", "tensor 'a' is an array"},
  };
  for (const auto& [header, fact] : headers) refused(header, fact);

  const std::pair<std::string, const char*> fields_of_a[] = {
      {R"("dtype":1)", "dtype is 1"},
      {R"("dtype":{"F32":null})", "dtype is an object"},
      {R"("dtype":"F33")", "dtype is 'F33'"},
      {R"("dtype":"f32")", "dtype is 'f32'"},
      {R"("dtype":"F32","shape":4)", "shape is 4"},
      {R"("dtype":"F32","shape":{})", "shape is an object"},
      {R"("dtype":"F32","shape":[-1])", "shape holds -1"},
      {R"("dtype":"F32","shape":[1.0])", "shape holds 1.0"},
      {R"("dtype":"F32","shape":["1"])", "shape holds '1'"},
      {R"("dtype":"F32","shape":[[1]])", "shape holds an array"},
      {R"("dtype":"F32","shape":[18446744073709551616])", "shape holds 1.8446744073709552e+19"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[null,4])", "data_offsets holds null"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[0])", "data_offsets has 1 numbers"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[0,4,8])", "data_offsets has 3 numbers"},
      {R"("shape":[1],"data_offsets":[0,4])", "dtype is missing"},
      {R"("dtype":"F32","data_offsets":[0,4])", "shape is missing"},
      {R"("dtype":"F32","shape":[1])", "data_offsets is missing"},
  };
  for (const auto& [fields, fact] : fields_of_a) {
    refused(with_fields(fields), std::string("tensor 'a': ") + fact);
  }
  for (const std::string key : {"dtype", "shape", "data_offsets"}) {
    refused(with_fields(kF32 + ",\"" + key + "\":0"), "key '" + key + "' appears twice");
  }
  // The reference takes the last one.
  const std::string members = "\"a\":{" + kF32 + "},\"b\":{" + kF32 + "},\"a\":{" + kF32 + "}";
  refused("{" + members + "}", "key 'a' appears twice");
}

TEST_CASE("refused: offsets with a hole or an overlap, or that do not match shape and file") {
  struct Case {
    const char *dtype, *shape, *offsets, *data, *fact;
  };
  const Case of_a[] = {
      {"F32", "[1]", "[4,8]", "12345678", "data_offsets are [4, 8]; expected them to begin at 0"},
      {"F32", "[4294967296,4294967296]", "[0,4]", "1234", "takes more bytes than can be counted"},
      {"F32", "[4611686018427387904,4]", "[0,4]", "1234", "takes more bytes than can be counted"},
      {"F32", "[576460752303423488]", "[0,4]", "1234", "takes more bytes than can be counted"},
      {"F32", "[4294967296,4294967296,0]", "[0,4]", "1234", "takes more bytes than can be counted"},
      {"F4", "[3]", "[0,2]", "12", "F4 of shape [3] does not end at a whole byte"},
      {"F32", "[2,2]", "[0,12]", "123456789012", "takes 16 bytes, but data_offsets enclose 12"},
      {"F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]", "1234", "shape has more than 8 numbers"},
  };
  for (const auto& [dtype, shape, offsets, data, fact] : of_a) {
    const std::string file = file_of("{" + entry("a", dtype, shape, offsets) + "}", data);
    check_refused([&] { (void)parse_safetensors(as_bytes(file), "f"); }, {"f: tensor 'a': ", fact});
  }
  CHECK(accepted("{" + entry("a", "F32", "[1,1,1,1,1,1,1,1]", "[0,4]") + "}") == 1);

  for (const std::string offsets : {"[5, 9]", "[3, 7]", "[4, 3]"}) {
    refused("{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "F32", "[1]", offsets) + "}",
            "tensor 'b': data_offsets are " + offsets, "12345678");
  }
  const std::string two =
      "{" + entry("b", "F32", "[1]", "[0,4]") + "," + entry("a", "F32", "[2]", "[4,12]") + "}";
  refused(two, "ends inside tensor 'a', after 8 bytes of data; expected 12", "12345678");
  refused(two, "3 bytes follow the last tensor", "123456789012345");
}

TEST_CASE("refused: names, tensor counts and values past the limits") {
  const auto named = [](std::size_t length) {
    return "{" + entry(std::string(length, 'n'), "F32", "[1]", "[0,4]") + "}";
  };
  CHECK(accepted(named(1024)) == 1);
  refused(named(1025), "a name of 1025 bytes");

  const auto counted = [](std::size_t count) {
    std::string header = "{";
    for (std::size_t i = 0; i < count; ++i) {
      header += (i ? "," : "") + entry(std::to_string(i), "F32", "[0]", "[0,0]");
    }
    return file_of(header + "}");
  };
  CHECK(parse_safetensors(as_bytes(counted(100'000)), "f").size() == 100'000);
  refused_file(counted(100'001), "more than 100000 tensors");

  std::string values = with_fields(kF32 + ",\"more\":[0");
  values.resize(values.size() - 2);
  for (int i = 0; i < 1'600'000; ++i) values += ",0";
  refused_file(file_of(values + "]}}", "1234"), "more than 1600000 values");
}

TEST_CASE("messages show names and values from a header without control characters") {
  const std::string bad = R"(a\u001b[2J\u000a)";
  const std::string shown = R"('a\x1b[2J\x0a')";
  refused("{" + entry(bad, "F32", "[1]", "[0,5]") + "}", "tensor " + shown, "12345");
  refused("{" + entry("a", bad, "[1]", "[0,4]") + "}", "dtype is " + shown);
  refused("{\"" + bad + "\":1,\"" + bad + "\":1}", "key " + shown);
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
      parse_json(read_file(folder / "verdicts.json", 1 << 20), "verdicts.json");
  std::size_t compared = 0;
  for (const auto& item : verdicts.root.at("files").items()) {
    const std::string name = item.key();
    const auto& verdict = item.value();
    CAPTURE(name);
    const MappedFile file(folder / name);
    const std::string message =
        refusal_of([&] { (void)parse_safetensors(file.bytes(), name); });
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
