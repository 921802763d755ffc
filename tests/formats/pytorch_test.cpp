#include "formats/pytorch.h"

#include "base/fail.h"
#include "formats/checkpoint.h"
#include "support/bytes.h"
#include "support/test.h"
#include "support/torch_file.h"

namespace gpt2::test::pytorch_test {

namespace fs = std::filesystem;

namespace {

void refused(const std::string& file, std::string_view fact,
             ErrorCode code = ErrorCode::invalid_file) {
  check_refused([&] { (void)parse_pytorch(as_bytes(file), "f"); }, {"f: ", fact}, code);
}

std::string bytes_of(const TensorView& view) {
  return {reinterpret_cast<const char*>(view.data), view.bytes};
}

bool is_inside(const TensorView& view, const std::string& file) {
  const char* const data = reinterpret_cast<const char*>(view.data);
  return data >= file.data() && data + view.bytes <= file.data() + file.size();
}

// Returns a zip with one tensor 'a' of bytes, whose storage is `data`.
std::string one_tensor(const std::string& data, std::int32_t offset,
                       const std::vector<std::int32_t>& size,
                       const std::vector<std::int32_t>& stride) {
  const auto elements = static_cast<std::int32_t>(data.size());
  return torch_zip(
      py_dict({{"a", py_tensor(py_storage("ByteStorage", "0", elements), offset, size, stride)}}),
      {{"0", data}});
}

// Returns the elements of 'a', and checks whether they lie in the file.
std::string elements_of(const std::string& file, bool in_place) {
  const TensorFile result = parse_pytorch(as_bytes(file), "f");
  CHECK(is_inside(result.tensors.at("a"), file) == in_place);
  CHECK(result.copies.empty() == in_place);
  return bytes_of(result.tensors.at("a"));
}

// Returns the pickle of a byte tensor of shape [2].
std::string byte_pair(const std::string& key, std::int32_t elements = 2, bool legacy = false) {
  return py_tensor(py_storage("ByteStorage", key, elements, legacy), 0, {2}, {1});
}

}  // namespace

TEST_CASE("zip: tensors lie in place, with dtype, shape and shared storages") {
  const std::string file = torch_zip(
      py_dict({{"wte", py_tensor(py_storage("HalfStorage", "0", 6), 0, {3, 2}, {2, 1})},
               {"lm_head", py_tensor(py_storage("HalfStorage", "0", 6), 0, {3, 2}, {2, 1})},
               {"last", py_tensor(py_storage("HalfStorage", "0", 6), 4, {2}, {1})},
               {"scalar", py_tensor(py_storage("FloatStorage", "1", 1), 0, {}, {})},
               {"empty", py_tensor(py_storage("LongStorage", "2", 0), 0, {0, 5}, {5, 1})},
               {"none", py_tensor(py_storage("LongStorage", "2", 0), 0, {5, 0}, {1, 1})}}),
      {{"0", "0a1b2c3d4e5f"}, {"1", "flot"}, {"2", ""}});
  CHECK(is_pytorch(as_bytes(file)));
  const TensorFile result = parse_pytorch(as_bytes(file), "f");
  CHECK(result.format == "PyTorch zip");
  CHECK(result.tensors.size() == 6);
  CHECK(result.copies.empty());
  const TensorView& wte = result.tensors.at("wte");
  CHECK(wte.dtype == DType::f16);
  CHECK(wte.shape == Shape{3, 2});
  CHECK(bytes_of(wte) == "0a1b2c3d4e5f");
  CHECK(is_inside(wte, file));
  CHECK(result.tensors.at("lm_head").data == wte.data);
  CHECK(bytes_of(result.tensors.at("last")) == "4e5f");
  CHECK(result.tensors.at("scalar").shape == Shape{});
  CHECK(bytes_of(result.tensors.at("scalar")) == "flot");
  CHECK(result.tensors.at("empty").shape == Shape{0, 5});
  CHECK(result.tensors.at("empty").bytes == 0);
  CHECK(result.tensors.at("none").shape == Shape{5, 0});
}

TEST_CASE("before PyTorch 1.6: tensors lie in the storages after the pickles") {
  const std::string object =
      py_dict({{"b", py_tensor(py_storage("FloatStorage", "9", 2, true), 0, {2}, {1})},
               {"a", py_tensor(py_storage("FloatStorage", "10", 1, true), 0, {1, 1}, {1, 1})}});
  const std::string file = torch_legacy(object, {{"10", "1234"}, {"9", "abcdefgh"}});
  CHECK(is_pytorch(as_bytes(file)));
  const TensorFile result = parse_pytorch(as_bytes(file), "f");
  CHECK(result.format == "PyTorch pickle (before 1.6)");
  CHECK(bytes_of(result.tensors.at("a")) == "1234");
  CHECK(result.tensors.at("a").shape == Shape{1, 1});
  CHECK(bytes_of(result.tensors.at("b")) == "abcdefgh");
  CHECK(is_inside(result.tensors.at("b"), file));
  // What pickle.dumps(0x1950a86a20f9469cfc6c, protocol) of Python writes before the number with the
  // protocols 3 and 4, the latter with the length of a frame.
  for (const std::string& head :
       {std::string("\x80\x03"), "\x80\x04\x95\x0d" + std::string(7, '\0')}) {
    const std::string newer = head + file.substr(2);
    REQUIRE(is_pytorch(as_bytes(newer)));
    CHECK(bytes_of(parse_pytorch(as_bytes(newer), "f").tensors.at("b")) == "abcdefgh");
  }
  CHECK_FALSE(is_pytorch(as_bytes(file.substr(1))));
}

TEST_CASE("strides: elements are copied only if they are not in order") {
  CHECK(elements_of(one_tensor("abcdef", 0, {2, 3}, {3, 1}), true) == "abcdef");
  CHECK(elements_of(one_tensor("abcdef", 2, {2, 2}, {2, 1}), true) == "cdef");
  // The stride of a dimension of size 1 means nothing.
  CHECK(elements_of(one_tensor("abcdef", 0, {3, 1}, {1, 2147483647}), true) == "abc");
  CHECK(elements_of(one_tensor("abcdef", 0, {3, 2}, {1, 3}), false) == "adbecf");  // transposed
  CHECK(elements_of(one_tensor("abcdef", 1, {2, 2}, {3, 1}), false) == "bcef");    // some columns
  CHECK(elements_of(one_tensor("abcdef", 5, {3}, {0}), false) == "fff");           // expanded
  CHECK(elements_of(one_tensor("abcdefgh", 0, {2, 2, 2}, {1, 2, 4}), false) == "aecgbfdh");
  const std::string wide =
      torch_zip(py_dict({{"a", py_tensor(py_storage("ShortStorage", "0", 4), 0, {2, 2}, {1, 2})}}),
                {{"0", "0a1b2c3d"}});
  CHECK(elements_of(wide, false) == "0a2c1b3d");
}

TEST_CASE("a state_dict may be wrapped, and may hold more than tensors") {
  const std::string state = py_dict({{"a", byte_pair("0")}, {"step", "K\7"}});
  const std::vector<StoredBytes> storages = {{"0", "xy"}};
  for (const std::string& root :
       {state, py_dict({{"state_dict", state}, {"epoch", "K\1"}, {"b", byte_pair("1")}}),
        py_dict({{"model_state_dict", state}, {"b", "N"}}), py_dict({{"module", state}}),
        py_dict({{"model", state}, {"optimizer", py_dict({{"exp_avg", byte_pair("gone")}})}}),
        // With attributes, and with plain dicts instead of OrderedDict.
        "}" + py_text("model") + state + "}" + py_text("_metadata") + "}sb" + "s"}) {
    const std::string file = torch_zip(root, storages);
    const TensorFile result = parse_pytorch(as_bytes(file), "f");
    REQUIRE(result.tensors.size() == 1);
    CHECK(bytes_of(result.tensors.at("a")) == "xy");
    CHECK_FALSE(result.model_args);
  }
}

TEST_CASE("refused: more than 100000 tensors") {
  const auto counted = [](std::size_t count) {
    // The file has one tensor under many names: "q" stores it in memo slot 0, "h" loads it from
    // there, and "s" adds a member to the dict.
    std::string state = "}" + py_text("0") + byte_pair("0") + std::string("q\0s", 3);
    for (std::size_t i = 1; i < count; ++i) {
      state += py_text(std::to_string(i)) + std::string("h\0s", 3);
    }
    return torch_zip(state, {{"0", "xy"}});
  };
  if (!is_slow()) CHECK_NOTHROW(parse_pytorch(as_bytes(counted(100'000)), "f"));
  refused(counted(100'001), "more than 100000 tensors");
}

TEST_CASE("refused by name: a weight or a storage that only code could make") {
  const std::string object = py_global("os", "system") + py_text("id") + "\x85R";
  const std::string file =
      torch_zip(py_dict({{"a", byte_pair("0")}, {"config", object}}), {{"0", "xy"}});
  CHECK(parse_pytorch(as_bytes(file), "f").ignored == std::vector<std::string>{"config"});
  refused(torch_zip(py_dict({{"a", byte_pair("0")}, {"ln_f.bias", object}}), {{"0", "xy"}}),
          "tensor 'ln_f.bias' is an object of 'os.system'", ErrorCode::unsupported);
  refused(torch_zip(py_dict({{"a", py_tensor(py_storage("QInt8Storage", "0", 1), 0, {1}, {1})}}),
                    {{"0", "x"}}),
          "the type of a storage is an object of 'torch.QInt8Storage'", ErrorCode::unsupported);
}

TEST_CASE("a copy of a tensor lives as long as its checkpoint") {
  const TemporaryDirectory directory;
  const Checkpoint checkpoint = Checkpoint::open(
      find_model_files(directory.write("x.bin", one_tensor("abcd", 0, {2, 2}, {1, 2}))));
  CHECK(bytes_of(checkpoint.tensors.at("a")) == "acbd");
}

TEST_CASE("refused by name: files of other kinds, and a damaged one") {
  const ZipMember pickle = {.name = "top/data.pkl", .data = "}."};
  refused(write_zip({pickle, {.name = "top/constants.pkl", .data = "}."}}), "TorchScript",
          ErrorCode::unsupported);
  refused(write_zip({pickle, {.name = "top/byteorder", .data = "big"}}), "byte order 'big'",
          ErrorCode::unsupported);
  refused(write_zip({{.name = "word/document.xml", .data = "<>"}}), "without a data.pkl");
  refused(write_zip({{.name = "a/b/data.pkl", .data = "}."}}), "without a data.pkl");
  std::string damaged = one_tensor("abcdef", 0, {6}, {1});
  damaged[damaged.find("OrderedDict")] = 'o';
  refused(damaged, "file 'archive/data.pkl' of the archive is damaged");
  CHECK_FALSE(is_pytorch({}));
  CHECK_FALSE(is_pytorch(as_bytes(std::string(600, '\0'))));
}

TEST_CASE("refused: a root that is not a state_dict") {
  refused(torch_zip("]", {}), "holds a list");
  refused(torch_zip(byte_pair("0"), {{"0", "xy"}}), "holds a tensor");
  refused(torch_zip(py_dict({}), {}), "a dict without tensors; its keys: ");
  std::vector<Item> keys;
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) keys.push_back({key, "K\1"});
  refused(torch_zip(py_dict(keys), {}), "its keys: 'a', 'b', 'c', 'd', 'e', ...");
  refused(torch_zip(py_dict({{"model", py_global("a", "GPT")}}), {}),
          "'model' (an object of 'a.GPT')");
  refused(torch_zip(py_global("os", "system") + py_text("id") + "\x85R", {}),
          "holds an object of 'os.system'");
}

TEST_CASE("refused: a tensor that lies outside its storage or is described wrongly") {
  const auto tensor = [](std::int32_t offset, const std::vector<std::int32_t>& size,
                         const std::vector<std::int32_t>& stride, const std::string& fact) {
    refused(one_tensor("abcdef", offset, size, stride), "tensor 'a': " + fact);
  };
  const std::int32_t max = 2147483647;
  tensor(0, {7}, {1}, "shape [7] at offset 0 reaches outside its storage of 6 elements");
  tensor(0, {2, 3}, {4, 1}, "shape [2, 3] at offset 0");
  tensor(0, {max, max}, {max, max}, "shape [2147483647, 2147483647] at offset 0");
  tensor(-1, {1}, {1}, "the offset is -1");
  tensor(0, {1}, {-1}, "the stride is -1");
  tensor(0, {1, 1}, {1}, "1 strides for shape [1, 1]");
  const std::vector<std::int32_t> nine(9, 1);
  tensor(0, nine, nine, "the size is not a tuple of at most 8 numbers");

  const auto described = [](const std::string& arguments, const std::string& fact) {
    const std::string a = py_global("torch._utils", "_rebuild_tensor") + "(" + arguments + "tR";
    refused(torch_zip(py_dict({{"a", a}}), {}), "tensor 'a': " + fact);
  };
  const std::string storage = py_storage("ByteStorage", "0", 1);
  described("NNNN", "its storage is None");
  described(storage + "N))", "the offset is None");
  described(storage + "K" + std::string(1, '\0') + "N)", "the size is not a tuple");
}

TEST_CASE("refused: a storage that is described wrongly, missing or of another size") {
  const auto stored = [](const std::string& storage, std::string_view fact,
                         const std::vector<StoredBytes>& storages = {}) {
    refused(torch_zip(py_dict({{"a", py_tensor(storage, 0, {1}, {1})}}), storages), fact);
  };
  const std::string name = py_text("storage");
  const std::string type = py_global("torch", "FloatStorage");
  const std::string place = py_text("0") + py_text("cpu");
  const std::string wrong = "a storage is not described as";
  stored("(NNNNNtQ", wrong);
  stored("(" + name + py_global("torch", "Size") + py_text("0") + "NNtQ", wrong);
  stored("(" + py_text("module") + type + place + "K\1tQ", wrong);
  stored("(" + name + type + place + "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7ftQ",
         "storage '0': the size 9223372036854775807 is too large");
  stored(py_storage("ByteStorage", "0", -1), "storage '0': the size is -1");
  stored("(" + name + type + place + "K\1)tQ", "storage '0': it is a view of another storage");
  stored(py_storage("FloatStorage", "0", 1), "file 'archive/data/0' of the archive is missing");
  stored(py_storage("FloatStorage", "0", 1), "tensor 'a': its storage has 5 bytes; expected 4",
         {{"0", "12345"}});
}

TEST_CASE("refused: copies that take more memory than the file") {
  refused(one_tensor("x", 0, {1 << 30}, {0}), "tensor 'a' of shape [1073741824] repeats elements");
  refused(one_tensor("x", 0, {1 << 30, 1 << 30, 1 << 30}, {0, 0, 0}),
          "tensor 'a' of shape [1073741824, 1073741824, 1073741824] is too large");
  std::vector<Item> items;
  const std::string repeated = py_tensor(py_storage("ByteStorage", "0", 1), 0, {400}, {0});
  for (int i = 0; i < 3; ++i) items.push_back({std::to_string(i), repeated});
  const std::string several = torch_zip(py_dict(items), {{"0", "x"}});
  REQUIRE(several.size() > 400);
  REQUIRE(several.size() < 1200);
  refused(several, "repeats elements");
}

TEST_CASE("refused: names that are too long or appear twice") {
  const std::vector<StoredBytes> storages = {{"0", "xy"}, {"1", "xy"}};
  refused(torch_zip(py_dict({{std::string(1025, 'n'), byte_pair("0")}}), storages),
          "a name of 1025 bytes");

  // One key for two values, of which Python would drop the first.
  const std::string twice = py_dict({{"a", byte_pair("0")}, {"b", "N"}, {"a", byte_pair("1")}});
  const std::string once = py_dict({{"a", byte_pair("0")}});
  const std::string heads = py_dict({{"n_head", "K\1"}, {"n_head", "K\2"}});
  const std::pair<std::string, const char*> roots[] = {
      {twice, "key 'a' appears twice"},
      {py_dict({{"state_dict", once}, {"a", "N"}, {"a", "N"}}), "key 'a' appears twice"},
      {py_dict({{"model", once}, {"model_args", heads}}), "key 'n_head' appears twice"},
  };
  for (const auto& [root, fact] : roots) refused(torch_zip(root, storages), fact);
}

TEST_CASE("refused: a pre-1.6 file that is cut short; the message names the storage") {
  const std::string object = py_dict({{"second", byte_pair("2", 2, true)},
                                      {"first", byte_pair("1", 2, true)},
                                      {"tied", byte_pair("1", 2, true)}});
  const std::string whole = torch_legacy(object, {{"1", "ab"}, {"2", "cd"}}, 1);
  CHECK_NOTHROW(parse_pytorch(as_bytes(whole), "f"));
  const auto cut = [](const std::string& file, std::size_t removed, const std::string& inside,
                      int missing) {
    const std::size_t size = file.size() - removed;
    refused(file.substr(0, size), concat("the file ends inside ", inside, ", at byte ", size,
                                         "; expected ", missing, " more bytes"));
  };
  cut(whole, 1, "storage '2'", 1);
  cut(whole, 11, "storage '1'", 1);
  // Only the optimizer refers to storage 3.
  const std::string wrapped = py_dict({{"model", object}, {"optimizer", byte_pair("3", 2, true)}});
  cut(torch_legacy(wrapped, {{"1", "ab"}, {"2", "cd"}, {"3", "ef"}}, 1), 1, "storage '3'", 1);
  const std::size_t pickles = whole.size() - 20;
  for (std::size_t size = 15; size < pickles; ++size) {
    refused(whole.substr(0, size), "the file ends inside the pickle");
  }
}

TEST_CASE("refused: a pre-1.6 file that contradicts itself") {
  const std::string object = py_dict({{"a", byte_pair("1", 2, true)}});
  const std::string good = torch_legacy(object, {{"1", "ab"}}, 1);
  refused(torch_legacy(object, {}, 1), "tensor 'a': its storage is missing");
  refused(torch_legacy(object, {{"1", "ab"}, {"2", "cd"}}, 1), "nothing refers to storage '2'");
  refused(torch_legacy(object, {{"1", "ab"}, {"1", "cd"}}, 1), "storage '1' appears twice");
  refused(torch_legacy(object, {{"1", "abc"}}, 1), "storage '1' has 3 elements; expected 2");
  const std::string two_sizes =
      py_dict({{"a", byte_pair("1", 2, true)}, {"b", byte_pair("1", 3, true)}});
  refused(torch_legacy(two_sizes, {{"1", "ab"}}, 1), "storage '1' has two sizes");
  const auto with = [&](const std::string& from, const std::string& to, std::string_view fact,
                        ErrorCode code = ErrorCode::unsupported) {
    std::string file = good;
    refused(file.replace(file.find(from), from.size(), to), fact, code);
  };
  with("M\xe9\x03.", "M\xe8\x03.", "protocol 1001");
  with("\x88", "\x89", "little-endian");
  with("little_endian", "middle_endian", "little-endian");
  with("](" + py_text("1") + "e", "N" + py_text("1") + "\x86", "no list of storages",
       ErrorCode::invalid_file);
}

TEST_CASE("a pytorch_model.bin has the same tensors as its model.safetensors, bit for bit") {
  std::size_t compared = 0;
  const fs::path cases = fs::path(GPT2_TEST_DATA) / "oracle/cases";
  for (const fs::path& folder : fs::directory_iterator(cases)) {
    if (!fs::exists(folder / "pytorch_model.bin") || !fs::exists(folder / "model.safetensors")) {
      continue;
    }
    CAPTURE(folder);
    const Checkpoint bin = Checkpoint::open(find_model_files(folder / "pytorch_model.bin"));
    const Checkpoint safetensors = Checkpoint::open(find_model_files(folder / "model.safetensors"));
    CHECK_FALSE(bin.model_args);
    for (const auto& [name, expected] : safetensors.tensors) {
      CAPTURE(name);
      const TensorView& view = bin.tensors.at(name);
      CHECK(view.dtype == expected.dtype);
      // safetensors stores the scalar as a row of one element.
      if (!name.ends_with("masked_bias")) CHECK(view.shape == expected.shape);
      CHECK(bytes_of(view) == bytes_of(expected));
    }
    for (const auto& [name, view] : bin.tensors) {
      CAPTURE(name);
      const bool is_buffer = name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
      CHECK((is_buffer || name == "lm_head.weight" || safetensors.tensors.contains(name)));
    }
    ++compared;
  }
  CHECK(compared == 7);
}

}  // namespace gpt2::test::pytorch_test
