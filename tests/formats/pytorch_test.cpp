#include "formats/pytorch.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "formats/checkpoint.h"
#include "support/bytes.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"
#include "support/torch_file.h"
#include "support/zip_writer.h"

namespace gpt2::test::pytorch_test {

namespace fs = std::filesystem;

namespace {

const gpt2::TensorView* find(const Checkpoint& checkpoint, std::string_view name) {
  const auto found = checkpoint.tensors.find(name);
  return found == checkpoint.tensors.end() ? nullptr : &found->second;
}

std::string refusal(const std::string& file) {
  return refusal_of([&] { (void)parse_pytorch(as_bytes(file), "f"); });
}

std::string bytes_of(const gpt2::TensorView& view) {
  return {reinterpret_cast<const char*>(view.data), view.bytes};
}

bool is_inside(const gpt2::TensorView& view, const std::string& file) {
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
  CHECK(gpt2::is_pytorch(as_bytes(file)));
  const TensorFile result = parse_pytorch(as_bytes(file), "f");
  CHECK(result.format == "PyTorch zip");
  CHECK(result.tensors.size() == 6);
  CHECK(result.copies.empty());
  const gpt2::TensorView& wte = result.tensors.at("wte");
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
  CHECK(gpt2::is_pytorch(as_bytes(file)));
  const TensorFile result = parse_pytorch(as_bytes(file), "f");
  CHECK(result.format == "PyTorch pickle (before 1.6)");
  CHECK(bytes_of(result.tensors.at("a")) == "1234");
  CHECK(result.tensors.at("a").shape == Shape{1, 1});
  CHECK(bytes_of(result.tensors.at("b")) == "abcdefgh");
  CHECK(is_inside(result.tensors.at("b"), file));
}

TEST_CASE("strides: elements are copied only if they are not in order") {
  CHECK(elements_of(one_tensor("abcdef", 0, {2, 3}, {3, 1}), true) == "abcdef");
  CHECK(elements_of(one_tensor("abcdef", 2, {2, 2}, {2, 1}), true) == "cdef");
  // The stride of a dimension of size 1 means nothing.
  CHECK(elements_of(one_tensor("abcdef", 0, {1, 3}, {77, 1}), true) == "abc");
  CHECK(elements_of(one_tensor("abcdef", 0, {3, 1}, {1, 2147483647}), true) == "abc");
  CHECK(elements_of(one_tensor("abcdef", 0, {3, 2}, {1, 3}), false) == "adbecf");  // transposed
  CHECK(elements_of(one_tensor("abcdef", 1, {2, 2}, {3, 1}), false) == "bcef");  // some columns
  CHECK(elements_of(one_tensor("abcdef", 5, {3}, {0}), false) == "fff");         // expanded
  CHECK(elements_of(one_tensor("abcdefgh", 0, {2, 2, 2}, {1, 2, 4}), false) == "aecgbfdh");
  const std::string wide =
      torch_zip(py_dict({{"a", py_tensor(py_storage("ShortStorage", "0", 4), 0, {2, 2}, {1, 2})}}),
                {{"0", "0a1b2c3d"}});
  CHECK(elements_of(wide, false) == "0a2c1b3d");
}

TEST_CASE("a state_dict may be wrapped, and may hold more than tensors") {
  const std::string state = py_dict({{"_orig_mod.a", byte_pair("0")}, {"step", "K\7"}});
  const std::vector<StoredBytes> storages = {{"0", "xy"}};
  for (const std::string& root :
       {state, py_dict({{"state_dict", state}, {"epoch", "K\1"}, {"b", byte_pair("1")}}),
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
    return refusal(torch_zip(state, {{"0", "xy"}}));
  };
  CHECK(counted(100'000) == "(accepted)");
  CHECK(counted(100'001) == "f: more than 100000 tensors");
}

TEST_CASE("nanoGPT's checkpoint has model_args, and its other entries are ignored") {
  const std::string file = torch_zip(
      py_dict({{"model", py_dict({{"_orig_mod.transformer.wte.weight", byte_pair("0")}})},
               {"optimizer", py_dict({{"state", py_dict({{"m", byte_pair("not in the file")}})}})},
               {"model_args", py_dict({{"n_layer", "K\2"},
                                       {"bias", "\x89"},
                                       {"vocab_size", "M\x80\xc4"},
                                       {"dropout", "G" + std::string(8, '\0')},
                                       {"name", py_text("x")}})},
               {"iter_num", "K\5"}}),
      {{"0", "xy"}});
  const TemporaryDirectory directory;
  directory.write("ckpt.pt", file);
  const Checkpoint checkpoint = Checkpoint::open(find_model_files(directory.path()));
  CHECK(checkpoint.format == "nanoGPT, PyTorch zip");
  CHECK(checkpoint.model_args ==
        gpt2::ModelArgs{{"n_layer", 2}, {"bias", 0}, {"vocab_size", 50304}});
  CHECK(checkpoint.ignored == std::vector<std::string>{"optimizer", "iter_num"});
  REQUIRE(find(checkpoint, "transformer.wte.weight") != nullptr);
  CHECK(bytes_of(*find(checkpoint, "transformer.wte.weight")) == "xy");
}

TEST_CASE("a copy of a tensor lives as long as its checkpoint") {
  const TemporaryDirectory directory;
  const Checkpoint checkpoint = Checkpoint::open(
      find_model_files(directory.write("x.bin", one_tensor("abcd", 0, {2, 2}, {1, 2}))));
  CHECK(bytes_of(*find(checkpoint, "a")) == "acbd");
}

TEST_CASE("refused by name: files of other kinds") {
  const std::vector<ZipMember> script = {{.name = "top/data.pkl", .data = "}."},
                                         {.name = "top/constants.pkl", .data = "}."}};
  CHECK(refusal(write_zip(script)) ==
        "f: a TorchScript program; save the model's state_dict() instead");
  CHECK(refusal(write_zip({{.name = "word/document.xml", .data = "<>"}})) ==
        "f: a zip archive without a data.pkl; expected one that torch.save wrote");
  CHECK(refusal(write_zip({{.name = "a/b/data.pkl", .data = "}."}})) ==
        "f: a zip archive without a data.pkl; expected one that torch.save wrote");
  CHECK(refusal(write_zip(
            {{.name = "top/data.pkl", .data = "}."}, {.name = "top/byteorder", .data = "big"}})) ==
        "f: byte order 'big'; expected 'little'");
  CHECK_FALSE(gpt2::is_pytorch({}));
  CHECK_FALSE(gpt2::is_pytorch(as_bytes(std::string(600, '\0'))));
}

TEST_CASE("refused: a root that is not a state_dict") {
  CHECK(refusal(torch_zip("]", {})) ==
        "f: holds a list; expected a state_dict, a dict of names and tensors");
  CHECK(refusal(torch_zip(byte_pair("0"), {{"0", "xy"}})) ==
        "f: holds a tensor; expected a state_dict, a dict of names and tensors");
  CHECK(refusal(torch_zip(py_dict({}), {})) == "f: holds a dict without tensors; its keys: ");
  CHECK(refusal(torch_zip("}(NNK\1Nu", {})) == "f: holds a dict without tensors; its keys: ");
  std::vector<Item> keys;
  for (const char* key : {"a", "b", "c", "d", "e"}) keys.push_back({key, "K\1"});
  const std::string untold = "f: holds a dict without tensors; its keys: 'a', 'b', 'c', 'd', 'e'";
  CHECK(refusal(torch_zip(py_dict(keys), {})) == untold);
  keys.push_back({"f", "N"});
  CHECK(refusal(torch_zip(py_dict(keys), {})) == untold + ", ...");
  CHECK(refusal(torch_zip(py_global("os", "system") + py_text("id") + "\x85R", {}))
            .find("f: pickle, byte 2: it refers to 'os system'") == 0);
}

TEST_CASE("refused: a tensor that lies outside its storage or is described wrongly") {
  const auto tensor = [](std::int32_t offset, const std::vector<std::int32_t>& size,
                         const std::vector<std::int32_t>& stride) {
    return refusal(one_tensor("abcdef", offset, size, stride));
  };
  const std::string outside = " reaches outside its storage of 6 elements";
  CHECK(tensor(0, {7}, {1}) == "f: tensor 'a': shape [7] at offset 0" + outside);
  CHECK(tensor(1, {6}, {1}) == "f: tensor 'a': shape [6] at offset 1" + outside);
  CHECK(tensor(6, {}, {}) == "f: tensor 'a': shape [] at offset 6" + outside);
  CHECK(tensor(0, {2, 3}, {4, 1}) == "f: tensor 'a': shape [2, 3] at offset 0" + outside);
  CHECK(tensor(0, {2147483647, 2147483647}, {2147483647, 2147483647}) ==
        "f: tensor 'a': shape [2147483647, 2147483647] at offset 0" + outside);
  CHECK(tensor(-1, {1}, {1}) == "f: tensor 'a': the offset is -1; expected a whole number");
  CHECK(tensor(0, {-1}, {1}) == "f: tensor 'a': the size is -1; expected a whole number");
  CHECK(tensor(0, {1}, {-1}) == "f: tensor 'a': the stride is -1; expected a whole number");
  CHECK(tensor(0, {1, 1}, {1}) == "f: tensor 'a': 1 strides for shape [1, 1]");
  CHECK(tensor(0, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}) ==
        "f: tensor 'a': the size is not a tuple of at most 8 numbers");

  const auto described = [](const std::string& arguments) {
    return refusal(torch_zip(
        py_dict({{"a", py_global("torch._utils", "_rebuild_tensor") + "(" + arguments + "tR"}}),
        {}));
  };
  CHECK(described("NNNN") == "f: tensor 'a': its storage is None; expected a storage");
  const std::string storage = py_storage("ByteStorage", "0", 1);
  CHECK(described(storage + "N))") == "f: tensor 'a': the offset is None; expected a whole number");
  CHECK(described(storage + "K" + std::string(1, '\0') + "N)") ==
        "f: tensor 'a': the size is not a tuple of at most 8 numbers");
}

TEST_CASE("refused: a storage that is described wrongly, missing or of another size") {
  const auto stored = [](const std::string& storage, const std::vector<StoredBytes>& storages) {
    return refusal(torch_zip(py_dict({{"a", py_tensor(storage, 0, {1}, {1})}}), storages));
  };
  const std::string wrong =
      "f: a storage is not described as ('storage', type, key, location, size)";
  CHECK(stored("(NNNNNtQ", {}) == wrong);
  CHECK(stored("(" + py_text("storage") + "NNNNtQ", {}) == wrong);
  CHECK(stored("(" + py_text("storage") + py_global("torch", "Size") + py_text("0") + "NNtQ", {}) ==
        wrong);
  CHECK(stored("(" + py_text("module") + py_global("torch", "FloatStorage") + py_text("0") +
                   py_text("cpu") + "K\1tQ",
               {}) == wrong);
  CHECK(stored("(" + py_text("storage") + py_global("torch", "FloatStorage") + py_text("0") +
                   py_text("cpu") + "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7ftQ",
               {}) == "f: storage '0': the size 9223372036854775807 is too large");
  CHECK(stored(py_storage("ByteStorage", "0", -1), {}) ==
        "f: storage '0': the size is -1; expected a whole number");
  CHECK(stored("(" + py_text("storage") + py_global("torch", "FloatStorage") + py_text("0") +
                   py_text("cpu") + "K\1)tQ",
               {}) ==
        "f: storage '0': it is a view of another storage; save the file again with a newer "
        "PyTorch");
  CHECK(stored(py_storage("FloatStorage", "0", 1), {}) ==
        "f: file 'archive/data/0' of the archive is missing");
  CHECK(stored(py_storage("FloatStorage", "0", 1), {{"0", "12345"}}) ==
        "f: tensor 'a': its storage has 5 bytes; expected 4");
}

TEST_CASE("refused: copies that take more memory than the file") {
  const std::string file = one_tensor("x", 0, {1 << 30}, {0});
  CHECK(refusal(file) ==
        "f: tensor 'a' of shape [1073741824] repeats elements; expected no more "
        "bytes than the file has");
  CHECK(refusal(one_tensor("x", 0, {1 << 30, 1 << 30, 1 << 30}, {0, 0, 0})) ==
        "f: tensor 'a' of shape [1073741824, 1073741824, 1073741824] is too large");
  std::vector<Item> items;
  const std::string repeated = py_tensor(py_storage("ByteStorage", "0", 1), 0, {400}, {0});
  for (int i = 0; i < 3; ++i) items.push_back({std::to_string(i), repeated});
  const std::string several = torch_zip(py_dict(items), {{"0", "x"}});
  REQUIRE(several.size() > 400);
  REQUIRE(several.size() < 1200);
  CHECK(refusal(several).find("repeats elements") != std::string::npos);
}

TEST_CASE("refused: names that are too long or appear twice") {
  CHECK(refusal(torch_zip(py_dict({{std::string(1025, 'n'), byte_pair("0")}}), {{"0", "xy"}}))
            .ends_with(": a name of 1025 bytes; expected at most 1024"));
  CHECK(refusal(torch_zip(py_dict({{"a", byte_pair("0")}, {"_orig_mod.a", byte_pair("0")}}),
                          {{"0", "xy"}})) == "f: tensor 'a' appears twice");
}

TEST_CASE("refused: one key for two values, of which Python would drop the first") {
  const std::string twice = py_dict({{"a", byte_pair("0")}, {"b", "N"}, {"a", byte_pair("1")}});
  const std::string once = py_dict({{"a", byte_pair("0")}});
  for (const std::string& root : {twice, py_dict({{"model", twice}}),
                                  py_dict({{"state_dict", once}, {"a", "N"}, {"a", "N"}})}) {
    CHECK(refusal(torch_zip(root, {{"0", "xy"}, {"1", "xy"}})) ==
          "f: key 'a' appears twice in one dict");
  }
  CHECK(refusal(torch_zip(py_dict({{"model", once}, {"model", once}}), {{"0", "xy"}})) ==
        "f: key 'model' appears twice in one dict");
  CHECK(
      refusal(torch_zip(py_dict({{"model", once},
                                 {"model_args", py_dict({{"n_head", "K\1"}, {"n_head", "K\2"}})}}),
                        {{"0", "xy"}})) == "f: key 'n_head' appears twice in one dict");
}

TEST_CASE("messages show names from a file without control characters") {
  const std::string bad = "a\x1b[2J\n\xc3\xa9";
  const std::string shown = "'a\\x1b[2J\\x0a\\xc3\\xa9'";
  CHECK(refusal(torch_zip(py_dict({{bad, byte_pair("0", 1)}}), {{"0", "x"}}))
            .starts_with("f: tensor " + shown + ": "));
  CHECK(refusal(torch_zip(py_dict({{"a", byte_pair(bad)}}), {}))
            .starts_with("f: file 'archive/data/a\\x1b[2J\\x0a"));
  CHECK(refusal(torch_zip(py_dict({{bad, "N"}}), {})).ends_with("its keys: " + shown));
  const std::string object = py_dict({{"a", byte_pair("1", 2, true)}});
  CHECK(refusal(torch_legacy(object, {{"1", "ab"}, {bad, "cd"}}, 1)) ==
        "f: nothing refers to storage " + shown);
  CHECK(refusal(write_zip(
            {{.name = "top/data.pkl", .data = "}."}, {.name = "top/byteorder", .data = bad}})) ==
        "f: byte order " + shown + "; expected 'little'");
}

TEST_CASE("refused: a zip that is cut short or has a damaged pickle") {
  std::string file = one_tensor("abcdef", 0, {6}, {1});
  CHECK(refusal(file.substr(0, file.size() / 2)) ==
        "f: a zip archive without its end; the file is cut short: download it again");
  file[file.find("OrderedDict")] = 'o';
  CHECK(refusal(file) ==
        "f: file 'archive/data.pkl' of the archive is damaged (its CRC-32 differs): download it "
        "again");
}

TEST_CASE("refused: a pre-1.6 file that is cut short; the message names the tensor") {
  const std::string object = py_dict({{"second", byte_pair("2", 2, true)},
                                      {"first", byte_pair("1", 2, true)},
                                      {"tied", byte_pair("1", 2, true)}});
  const std::string whole = torch_legacy(object, {{"1", "ab"}, {"2", "cd"}}, 1);
  const std::size_t size = whole.size();
  REQUIRE(refusal(whole) == "(accepted)");
  const auto message = [](std::string_view name, std::size_t at, std::size_t missing) {
    return "f: the file ends inside tensor '" + std::string(name) + "', at byte " +
           std::to_string(at) + "; expected " + std::to_string(missing) +
           " more bytes: download it again";
  };
  CHECK(refusal(whole.substr(0, size - 1)) == message("second", size - 1, 1));
  CHECK(refusal(whole.substr(0, size - 5)) == message("second", size - 5, 2));
  CHECK(refusal(whole.substr(0, size - 11)) == message("first", size - 11, 1));
  // Only the optimizer refers to this storage.
  const std::string wrapped = py_dict({{"model", object}, {"optimizer", byte_pair("3", 2, true)}});
  const std::string more = torch_legacy(wrapped, {{"1", "ab"}, {"2", "cd"}, {"3", "ef"}}, 1);
  CHECK(refusal(more.substr(0, more.size() - 1)) ==
        "f: the file ends inside storage '3', at byte " + std::to_string(more.size() - 1) +
            "; expected 1 more bytes: download it again");
  const std::size_t pickles = size - 20;
  for (std::size_t cut = 15; cut < pickles; ++cut) {
    CHECK(refusal(whole.substr(0, cut)).find("the file ends inside the pickle") !=
          std::string::npos);
  }
}

TEST_CASE("refused: a pre-1.6 file that contradicts itself") {
  const std::string object = py_dict({{"a", byte_pair("1", 2, true)}});
  const std::string good = torch_legacy(object, {{"1", "ab"}}, 1);
  CHECK(refusal(torch_legacy(object, {}, 1)) == "f: tensor 'a': its storage is missing");
  CHECK(refusal(torch_legacy(object, {{"1", "ab"}, {"2", "cd"}}, 1)) ==
        "f: nothing refers to storage '2'");
  CHECK(refusal(torch_legacy(object, {{"1", "ab"}, {"1", "cd"}}, 1)) ==
        "f: storage '1' appears twice");
  CHECK(refusal(torch_legacy(object, {{"1", "abc"}}, 1)) ==
        "f: storage '1' has 3 elements; expected 2");
  CHECK(refusal(
            torch_legacy(py_dict({{"a", byte_pair("1", 2, true)}, {"b", byte_pair("1", 3, true)}}),
                         {{"1", "ab"}}, 1)) == "f: storage '1' has two sizes");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string file = good;
    return refusal(file.replace(file.find(from), from.size(), to));
  };
  CHECK(with("M\xe9\x03.", "M\xe8\x03.") == "f: not torch.save's protocol 1001");
  CHECK(with("\x88", "\x89") == "f: not written by a little-endian machine");
  CHECK(with("little_endian", "middle_endian") == "f: not written by a little-endian machine");
  CHECK(with("](" + py_text("1") + "e", "N" + py_text("1") + "\x86") ==
        "f: no list of storages after the pickles");
}

// -- Files that PyTorch wrote ---------------------------------------------------------------------

namespace {

const fs::path kCases = fs::path(GPT2_TEST_DATA) / "oracle/cases";

// Returns whether a tensor is one that newer versions do not store.
bool is_buffer(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

}  // namespace

TEST_CASE("a pytorch_model.bin has the same tensors as its model.safetensors, bit for bit") {
  std::size_t compared = 0;
  for (const fs::path& folder : fs::directory_iterator(kCases)) {
    if (!fs::exists(folder / "pytorch_model.bin") || !fs::exists(folder / "model.safetensors")) {
      continue;
    }
    CAPTURE(folder);
    const Checkpoint bin = Checkpoint::open(find_model_files(folder / "pytorch_model.bin"));
    const Checkpoint safetensors = Checkpoint::open(find_model_files(folder / "model.safetensors"));
    CHECK_FALSE(bin.model_args);
    for (const auto& [name, expected] : safetensors.tensors) {
      CAPTURE(name);
      const gpt2::TensorView* const view = find(bin, name);
      REQUIRE(view != nullptr);
      CHECK(view->dtype == expected.dtype);
      // safetensors stores the scalar as a row of one element.
      if (!name.ends_with("masked_bias")) CHECK(view->shape == expected.shape);
      CHECK(bytes_of(*view) == bytes_of(expected));
    }
    for (const auto& [name, view] : bin.tensors) {
      CAPTURE(name);
      CHECK((is_buffer(name) || name == "lm_head.weight" || find(safetensors, name) != nullptr));
    }
    ++compared;
  }
  CHECK(compared == 7);
}

TEST_CASE("the .bin files without a model.safetensors beside them hold a GPT-2's tensors") {
  const std::map<std::string, DType> cases = {{"bin_only", DType::f32},
                                              {"bin_legacy_pickle", DType::f32},
                                              {"bin_f16", DType::f16},
                                              {"sharded_bin", DType::f32}};
  for (const auto& [name, dtype] : cases) {
    CAPTURE(name);
    const Checkpoint bin = Checkpoint::open(find_model_files(kCases / name));
    const std::size_t layers = name == "sharded_bin" ? 3 : 2;
    CHECK(bin.tensors.size() == 5 + 14 * layers);
    const std::map<std::string, Shape> shapes = {
        {"transformer.wte.weight", Shape{211, 32}},
        {"transformer.wpe.weight", Shape{64, 32}},
        {"transformer.h.1.attn.c_attn.weight", Shape{32, 96}},
        {"transformer.h.1.attn.bias", Shape{1, 1, 64, 64}},
        {"transformer.h.0.mlp.c_proj.weight", Shape{128, 32}},
        {"transformer.ln_f.bias", Shape{32}},
        {"lm_head.weight", Shape{211, 32}},
    };
    for (const auto& [tensor, shape] : shapes) {
      CAPTURE(tensor);
      REQUIRE(find(bin, tensor) != nullptr);
      CHECK(find(bin, tensor)->shape == shape);
      if (!is_buffer(tensor)) CHECK(find(bin, tensor)->dtype == dtype);
    }
    CHECK(find(bin, "transformer.wte.weight")->data != nullptr);
  }
}

TEST_CASE("models that others trained open; a truncated one is refused with its tensor") {
  const fs::path models = fs::path(GPT2_SHARED_DIR) / "models";
  if (!fs::exists(models)) {
    WARN("skipped: no " << models);
    return;
  }
  const Checkpoint tarot = Checkpoint::open(find_model_files(models / "aitextgen-tarotble"));
  REQUIRE(find(tarot, "transformer.wte.weight") != nullptr);
  CHECK(find(tarot, "transformer.wte.weight")->shape == Shape{1000, 128});
  CHECK(find(tarot, "transformer.h.0.attn.bias")->dtype == DType::u8);
  CHECK(bytes_of(*find(tarot, "transformer.wte.weight")) ==
        bytes_of(*find(tarot, "lm_head.weight")));

  const fs::path truncated = models / "distilgpt2-legacy-TRUNCATED/pytorch_model.bin";
  CHECK(refusal_of([&] { (void)Checkpoint::open(find_model_files(truncated)); }) ==
        truncated.string() +
            ": the file ends inside tensor 'transformer.h.2.attn.c_attn.weight', at byte 1740371; "
            "expected 5357537 more bytes: download it again");
}

}  // namespace gpt2::test::pytorch_test
