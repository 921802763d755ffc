#include "formats/safetensors.h"

#include "base/file_source.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "support/bytes.h"
#include "support/test.h"

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

TEST_CASE("refused: a file that is no safetensors file, or ends inside its header") {
  refused_file("1234567", "has only 7 bytes");
  // A header may have 100,000,000 bytes, however long the file is.
  refused_file(little_endian<std::uint64_t>(100'000'001), "100000001 bytes");
  refused_file(little_endian(~std::uint64_t{0}), "18446744073709551615 bytes");
  refused_file(little_endian<std::uint64_t>(100'000'000) + "{}", "ends after 2 of them");
}

TEST_CASE("refused: a header that is not JSON in UTF-8") {
  refused("{\"\xff\":", "not UTF-8 at byte 10");  // before any other error is reported
  refused("\xef\xbb\xbf{}", "byte order mark");
  refused("{\"a\":}", "invalid JSON at column 6");
  refused("{}x", "invalid JSON");
}

TEST_CASE("refused: a header that does not follow the schema") {
  const std::pair<const char*, const char*> headers[] = {
      {"[1]", "the header is an array"},
      {R"({"__metadata__":[]})", "__metadata__ is an array"},
      {R"({"__metadata__":{"n":1}})", "__metadata__: holds 1"},
      {R"({"a":null})", "tensor 'a' is null"},
  };
  for (const auto& [header, fact] : headers) refused(header, fact);

  const std::pair<std::string, const char*> fields_of_a[] = {
      {R"("dtype":1)", "dtype is 1"},
      {R"("dtype":"F33")", "dtype is 'F33'"},
      {R"("dtype":"F32","shape":4)", "shape is 4"},
      {R"("dtype":"F32","shape":[-1])", "shape holds -1"},
      {R"("dtype":"F32","shape":[18446744073709551616])", "shape holds 1.8446744073709552e+19"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[null,4])", "data_offsets holds null"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[0])", "data_offsets has 1 numbers"},
      {R"("shape":[1],"data_offsets":[0,4])", "dtype is missing"},
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
  CHECK(accepted(R"({"__metadata__":null})", "") == 0);

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
  if (!is_slow()) CHECK_NOTHROW(parse_safetensors(as_bytes(counted(100'000)), "f"));
  refused_file(counted(100'001), "more than 100000 tensors");

  std::string values = with_fields(kF32 + ",\"more\":[0");
  values.resize(values.size() - 2);
  for (int i = 0; i < 1'600'000; ++i) values += ",0";
  refused_file(file_of(values + "]}}", "1234"), "more than 1600000 values");
}

TEST_CASE("verdicts are those of the reference reader") {
  const std::filesystem::path folder =
      std::filesystem::path(GPT2_TEST_DATA) / "oracle/safetensors_verdicts";
  const auto verdicts = parse_json(read_file(folder / "verdicts.json", 1 << 20), "verdicts.json");
  std::size_t compared = 0;
  for (const auto& item : verdicts.root.at("files").items()) {
    const std::string name = item.key();
    CAPTURE(name);
    const MappedFile file(folder / name);
    const std::string message = refusal_of([&] { (void)parse_safetensors(file.bytes(), name); });
    CAPTURE(message);
    const bool is_stricter = name == "dup_name.safetensors";  // on purpose
    const bool is_right = item.value().at("accepted") == true && !is_stricter;
    CHECK((message == "(accepted)") == is_right);
    ++compared;
  }
  CHECK(compared == 45);
}

}  // namespace gpt2::test::safetensors_test
