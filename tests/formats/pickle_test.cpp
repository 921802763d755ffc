#include "formats/pickle.h"

#include "base/fail.h"
#include "support/bytes.h"
#include "support/test.h"
#include "support/torch_file.h"

namespace gpt2::test::pickle_test {

using Kind = Pickle::Kind;

namespace {

void read(const std::string& bytes) { const Pickle pickle(as_bytes(bytes), 0, "f"); }

// Checks that the pickle is refused at the opcode of this byte.
void refused(const std::string& bytes, int byte, const std::string& fact,
             ErrorCode code = ErrorCode::invalid_file) {
  CAPTURE(bytes);
  const std::string where = "f: pickle, byte " + std::to_string(byte) + ": ";
  check_refused([&] { read(bytes); }, {where + fact}, code);
}

// The same for what no pickle of data has.
void refused_by_name(const std::string& bytes, int byte, const std::string& fact) {
  refused(bytes, byte, fact, ErrorCode::unsupported);
}

std::int64_t integer(const std::string& opcode) {
  const std::string bytes = opcode + ".";
  const Pickle pickle(as_bytes(bytes), 0, "f");
  REQUIRE(pickle.root->kind == Kind::integer);
  return pickle.root->integer;
}

}  // namespace

TEST_CASE("scalars have the values that Python's pickle gives them") {
  CHECK(integer("K\xff") == 255);
  CHECK(integer("M\xff\xfe") == 0xfeff);
  CHECK(integer("J\xff\xff\xff\x7f") == 2147483647);
  CHECK(integer(py_int(-2)) == -2);
  CHECK(integer(std::string("\x8a\x00", 2)) == 0);
  CHECK(integer("\x8a\x01\xff") == -1);
  CHECK(integer(std::string("\x8a\x02\xff\x00", 4)) == 255);
  CHECK(integer("\x8a\x02\x01\x80") == -32767);
  CHECK(integer("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f") == 9223372036854775807);
  CHECK(integer(std::string("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80", 10)) ==
        std::numeric_limits<std::int64_t>::min());

  const std::string bytes = kProto2 + "(N\x88\x89" + "G\x3f\xf0" + std::string(6, '\0') +
                            py_text("t\xc3\xa9xt") + "U\x02py" + "t.";
  const Pickle pickle(as_bytes(bytes), 0, "f");
  REQUIRE(pickle.root->kind == Kind::tuple);
  const auto item = [&](std::size_t i) { return *pickle.root->items.at(i); };
  CHECK(item(0).kind == Kind::none);
  CHECK(item(1).kind == Kind::boolean);
  CHECK(item(1).integer == 1);
  CHECK(item(2).integer == 0);
  CHECK(item(3).kind == Kind::real);
  CHECK(item(4).text == "t\xc3\xa9xt");
  CHECK(item(5).text == "py");
  CHECK(pickle.end == bytes.size());
}

TEST_CASE("containers hold what was put into them") {
  const auto items_of = [](const std::string& program) {
    const std::string bytes = program + ".";
    const Pickle pickle(as_bytes(bytes), 0, "f");
    std::string items = std::string(name_of(pickle.root->kind)) + ":";
    for (const Pickle::Value* item : pickle.root->items) {
      items += " " + std::to_string(item->integer);
    }
    return items;
  };
  CHECK(items_of(")") == "a tuple:");
  CHECK(items_of("K\1\x85") == "a tuple: 1");
  CHECK(items_of("K\1K\2\x86") == "a tuple: 1 2");
  CHECK(items_of("K\1K\2K\3\x87") == "a tuple: 1 2 3");
  CHECK(items_of("(K\1K\2K\3K\4t") == "a tuple: 1 2 3 4");
  CHECK(items_of("]K\1a(K\2K\3e") == "a list: 1 2 3");
  CHECK(items_of("\x8f") == "a list:");
  CHECK(items_of("}K\1K\2s(K\3K\4K\5K\6u") == "a dict: 1 2 3 4 5 6");
  CHECK(items_of(py_global("collections", "OrderedDict") + ")R(K\1K\2u") == "a dict: 1 2");
  CHECK(items_of(py_global("collections", "OrderedDict") + ")\x81") == "a dict:");
  // OrderedDict([[1, 2], [3, 4]]), as Python 2 wrote it.
  CHECK(items_of(py_global("collections", "OrderedDict") + "](](K\1K\2e](K\3K\4ee\x85R") ==
        "a dict: 1 2 3 4");
  CHECK(items_of(py_global("torch", "Size") + "K\1K\2\x86\x85R") == "a tuple: 1 2");
}

TEST_CASE("the memo returns the value itself, not a copy") {
  const std::string bytes = "]q\x07r" + little_endian(300u) + "h\x07j" + little_endian(300u) +
                            "K\x05" + "a\x87.";  // [x, x, x] where x = [5]
  const Pickle pickle(as_bytes(bytes), 0, "f");
  REQUIRE(pickle.root->items.size() == 3);
  CHECK(pickle.root->items[0] == pickle.root->items[1]);
  CHECK(pickle.root->items[1] == pickle.root->items[2]);
  CHECK(pickle.root->items[0]->items.size() == 1);
}

TEST_CASE("tensors, parameters and storages are read as descriptions") {
  const std::string tensor = py_tensor(py_storage("HalfStorage", "7", 6), 1, {2, 2}, {2, 1});
  for (const bool is_parameter : {false, true}) {
    const std::string bytes = kProto2 +
                              (is_parameter ? py_global("torch._utils", "_rebuild_parameter") +
                                                  py_tuple({tensor, "\x88", py_dict({})}) + "R"
                                            : tensor) +
                              ".";
    const Pickle pickle(as_bytes(bytes), 0, "f");
    REQUIRE(pickle.root->kind == Kind::tensor);
    const Pickle::Value& storage = *pickle.root->items[0];
    REQUIRE(storage.kind == Kind::storage);
    CHECK(storage.items[1]->name->storage == DType::f16);
    CHECK(storage.items[2]->text == "7");
    CHECK(storage.items[4]->integer == 6);
    CHECK(pickle.root->items[1]->integer == 1);
  }
}

TEST_CASE("attributes of a dict (BUILD) are ignored") {
  const std::string bytes =
      kProto2 + py_dict({{"a", "K\1"}}) + "}" + py_text("_metadata") + py_dict({}) + "sb.";
  const Pickle pickle(as_bytes(bytes), 0, "f");
  CHECK(pickle.root->kind == Kind::dict);
  REQUIRE(pickle.root->find("a") != nullptr);
  CHECK(pickle.root->find("a")->integer == 1);
  CHECK(pickle.root->find("_metadata") == nullptr);
}

TEST_CASE("every type of storage that a state_dict can have is known") {
  const std::pair<std::string, DType> types[] = {
      {"torch FloatStorage", DType::f32},         {"torch HalfStorage", DType::f16},
      {"torch BFloat16Storage", DType::bf16},     {"torch DoubleStorage", DType::f64},
      {"torch LongStorage", DType::i64},          {"torch IntStorage", DType::i32},
      {"torch ShortStorage", DType::i16},         {"torch CharStorage", DType::i8},
      {"torch ByteStorage", DType::u8},           {"torch BoolStorage", DType::boolean},
      {"torch.storage UntypedStorage", DType::u8}};
  for (const auto& [name, dtype] : types) {
    const std::size_t space = name.find(' ');
    const std::string bytes = py_global(name.substr(0, space), name.substr(space + 1)) + ".";
    const Pickle pickle(as_bytes(bytes), 0, "f");
    REQUIRE(pickle.root->kind == Kind::name);
    CHECK(pickle.root->name->storage == dtype);
  }
}

TEST_CASE("what only code could make is an opaque value, whatever is put into it") {
  const auto root = [](const std::string& program) {
    const std::string bytes = kProto2 + program + ".";
    return describe(*Pickle(as_bytes(bytes), 0, "f").root);
  };
  const std::string object = py_global("a.b", "C");
  for (const std::string put :
       {"", ")R", ")\x81", ")R)R", ")R}b", ")RNb", ")R(K\1K\2u", ")RK\1a", ")R(K\1K\2e", ")RNNs"}) {
    CAPTURE(put);
    CHECK(root(object + put) == "an object of 'a.b.C'");
  }
  CHECK(root(py_global("posix", "system") + py_text("id") + "\x85R") ==
        "an object of 'posix.system'");
  CHECK(root(py_global("os\x1b[2J", "x")) == "an object of 'os\\x1b[2J.x'");
  CHECK(root(py_global("torch", "FloatStorage") + ")R") == "an object of 'torch FloatStorage'");
  CHECK(root("\x8a\x09" + std::string(9, '\1')) == "an object of 'int of more than 64 bits'");
  const std::string with_state = object + ")R" + py_dict({{"n", "K\7"}}) + "b.";
  const Pickle pickle(as_bytes(with_state), 0, "f");
  REQUIRE(pickle.root->items.size() == 1);
  CHECK(pickle.root->items[0]->find("n")->integer == 7);
  refused_by_name("\x80\x06.", 0, "pickle protocol 6");
}

TEST_CASE("what Python writes with the protocols 3 to 5 is read like protocol 2") {
  // OrderedDict(a=a tensor, n={'x'}, f=frozenset([1]), b=b'\x00\xff', d=datetime.date(2024, 1, 2))
  const std::string three(
      "\200\003ccollections\012OrderedDict\012q\000)Rq\001(X\001\000\000\000aq\002ctorch._utils\012"
      "_rebuild_tensor_v2\012q\003(("
      "X\007\000\000\000storageq\004ctorch\012FloatStorage\012q\005X\001\000"
      "\000\0000q\006X\003\000\000\000cpuq\007K\003tq\010QK\000K\003\205q\011K\001\205q\012\211h"
      "\000)R"
      "q\013tq\014Rq\015X\001\000\000\000nq\016cbuiltins\012set\012q\017]"
      "q\020X\001\000\000\000xq\021a"
      "\205q\022Rq\023X\001\000\000\000fq\024cbuiltins\012frozenset\012q\025]"
      "q\026K\001a\205q\027Rq\030"
      "X\001\000\000\000bq\031C\002\000\377q\032X\001\000\000\000dq\033cdatetime\012date\012q\034C"
      "\004"
      "\007\350\001\002q\035\205q\036Rq\037u.",
      303);
  const std::string four(
      "\200\004\225\327\000\000\000\000\000\000\000\214\013collections\224\214\013OrderedDict\224"
      "\223\224"
      ")R\224(\214\001a\224\214\014torch._utils\224\214\022_rebuild_tensor_v2\224\223\224(("
      "\214\007storage"
      "\224\214\005torch\224\214\014FloatStorage\224\223\224\214\0010\224\214\003cpu\224K\003t\224Q"
      "K\000K"
      "\003\205\224K\001\205\224\211h\002)R\224t\224R\224\214\001n\224\217\224("
      "\214\001x\224\220\214\001"
      "f\224("
      "K\001\221\224\214\001b\224C\002\000\377\224\214\001d\224\214\010datetime\224\214\004date"
      "\224\223\224C\004\007\350\001\002\224\205\224R\224u.",
      226);
  std::string five = four;
  five[1] = 5;
  for (const std::string& bytes : {three, four, five}) {
    const Pickle pickle(as_bytes(bytes), 0, "f");
    CAPTURE(bytes);
    REQUIRE(pickle.root->kind == Kind::dict);
    const Pickle::Value& tensor = *pickle.root->find("a");
    REQUIRE(tensor.kind == Kind::tensor);
    CHECK(tensor.items[0]->items[1]->name->storage == DType::f32);
    CHECK(tensor.items[2]->items[0]->integer == 3);
    CHECK(describe(*pickle.root->find("b")) == "an object of 'bytes'");
    CHECK(describe(*pickle.root->find("d")) == "an object of 'datetime.date'");
    CHECK(pickle.end == bytes.size());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      check_refused([&] { read(bytes.substr(0, size)); }, {"the file ends inside the pickle"});
    }
  }
}

TEST_CASE("refused by name: every opcode that a state_dict does not need") {
  const std::string allowed =
      std::string("\x80.(cRb\x81Q)t\x85\x86\x87]ae}su\x8fXUJKM\x8aGN\x88\x89hjqr") +
      "BC\x8c\x8d\x8e\x90\x91\x92\x93\x94\x95\x96";
  REQUIRE(allowed.size() == 34 + 12);
  for (int byte = 0; byte < 256; ++byte) {
    const std::string opcode(1, static_cast<char>(byte));
    if (allowed.find(opcode) != std::string::npos) continue;
    refused_by_name("NN" + opcode, 2, "opcode " + quote(opcode));
  }
}

TEST_CASE("refused: opcodes that do not match the values on the stack, and wrong strings") {
  struct Case {
    std::string program;
    int byte;
    const char* fact;
  };
  const std::string tensor = py_global("torch._utils", "_rebuild_tensor");
  const std::string tensor_v2 = py_global("torch._utils", "_rebuild_tensor_v2");
  const std::string dict = py_global("collections", "OrderedDict");
  const Case cases[] = {
      {".", 0, "too few values on the stack"},
      {"N(\x85", 2, "too few values on the stack"},
      {"Nt", 1, "no mark on the stack"},
      {"h\1", 0, "memo slot 1 is empty"},
      {"NNa", 2, "found None; expected a list"},
      {"]NNs", 3, "found a list; expected a dict"},
      {"}(Nu", 3, "a key without a value"},
      {"NNR", 2, "found None; expected a tuple"},
      {"K\1Q", 2, "found an int; expected a tuple"},
      {")Q", 1, "a storage made of 0 arguments"},
      {tensor + "(NNNt)R", 36, "found a tuple; expected a name"},
      {tensor + "(NNNtR", 35, "a tensor made of 3 arguments"},
      {tensor_v2 + "(NNNNNNNNtR", 43, "a tensor made of 8 arguments"},
      {py_global("torch", "Size") + ")R", 13, "torch Size without an argument"},
      {dict + "N\x85R", 27, "found None; expected a list"},
      {dict + "](](Nee\x85R", 33, "a pair of 1 values"},
      {py_text("a\xff") + ".", 0, "a string that is not UTF-8"},
      {"U\x01\x80.", 0, "a string that is not UTF-8"},
  };
  for (const auto& [program, byte, fact] : cases) refused(program, byte, fact);
}

TEST_CASE("refused: names, stack, memo and steps past the limits") {
  CHECK_NOTHROW(read(py_text(std::string(1 << 21, 'a')) + "."));
  refused("c" + std::string(257, 'a'), 0, "a name of more than 256 bytes");
  const std::size_t stack = Pickle::kMaxStack;
  CHECK_NOTHROW(read(std::string(stack, 'N') + "."));
  for (const char opcode : {'N', '('}) {
    refused(std::string(stack + 1, opcode), 100'000, "more than 100000 values on the stack");
  }
  CHECK_NOTHROW(read("Nr" + little_endian(999'999u) + "."));
  refused("Nr" + little_endian(1'000'000u) + ".", 1, "memo slot 1000000");
  CHECK_NOTHROW(read("N" + std::string(Pickle::kMaxSteps - 1, '\x85') + "."));
  refused("N" + std::string(Pickle::kMaxSteps, '\x85') + ".", 1'000'000, "more than 1000000 steps");

  // A list of pairs that is copied again and again: x holds 1,000 references to the pair [1, 1].
  // Then OrderedDict(x) is called 1,000 times, which takes 4 bytes each.
  std::string program = py_global("collections", "OrderedDict") + "q\3](K\1K\1eq\1]q\2(";
  for (int i = 0; i < 1000; ++i) program += "h\1";
  program += "eN";
  for (int i = 0; i < 1000; ++i) program += "\x85h\3h\2\x85R";
  check_refused([&] { read(program); }, {"more than 1000000 steps"});
}

}  // namespace gpt2::test::pickle_test
