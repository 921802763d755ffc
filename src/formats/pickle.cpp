#include "formats/pickle.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fail.h"
#include "base/utf8.h"

namespace gpt2 {
namespace {

// clang-format off
/// The opcodes that Python writes with the protocols 2 to 5.
enum PickleOpcode : unsigned char {
  kMark = '(', kStop = '.', kNone = 'N', kNewTrue = 0x88, kNewFalse = 0x89,
  kBinInt = 'J', kBinInt1 = 'K', kBinInt2 = 'M', kLong1 = 0x8a, kBinFloat = 'G',
  kBinUnicode = 'X', kShortBinString = 'U', kProto = 0x80, kGlobal = 'c', kReduce = 'R',
  kBuild = 'b', kNewObj = 0x81, kBinPersId = 'Q', kEmptyTuple = ')', kTuple = 't',
  kTuple1 = 0x85, kTuple2 = 0x86, kTuple3 = 0x87, kEmptyList = ']', kAppend = 'a',
  kAppends = 'e', kEmptyDict = '}', kSetItem = 's', kSetItems = 'u', kEmptySet = 0x8f,
  kBinGet = 'h', kLongBinGet = 'j', kBinPut = 'q', kLongBinPut = 'r',
  kBinBytes = 'B', kShortBinBytes = 'C',                                   // protocol 3
  kFrame = 0x95, kShortBinUnicode = 0x8c, kBinUnicode8 = 0x8d, kBinBytes8 = 0x8e, kAddItems = 0x90,
  kFrozenSet = 0x91, kNewObjEx = 0x92, kStackGlobal = 0x93, kMemoize = 0x94,  // protocol 4
  kByteArray8 = 0x96,                                                      // protocol 5
};
// clang-format on

/// Reads a pickle's opcodes and their arguments one after another, and checks bounds.
class PickleReader {
 public:
  /// Begins at byte `begin` of `bytes`; REQUIRES begin <= bytes.size().
  PickleReader(Bytes bytes, std::size_t begin, std::string_view where)
      : bytes_(bytes), where_(where), position_(begin) {}

  [[nodiscard]] std::size_t position() const noexcept { return position_; }

  /// Returns the next opcode. Messages give its position until the following opcode is read.
  std::uint8_t opcode() {
    opcode_at_ = position_;
    return number<std::uint8_t>();
  }

  template <class T>
  T number() {
    return load_little_endian<T>(take(sizeof(T)));
  }

  /// Reads the length of an integer, which is one byte, and then the integer in two's complement.
  /// Returns nothing if it has more than 64 bits.
  std::optional<std::int64_t> long1() {
    const Bytes bytes = take(number<std::uint8_t>());
    if (bytes.size() > 8) return std::nullopt;
    std::int64_t value = !bytes.empty() && bytes.back() >= std::byte{0x80} ? -1 : 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
      value = value << 8 | std::to_integer<std::int64_t>(bytes[i]);
    }
    return value;
  }

  /// Returns the next `size` bytes. Throws unless they are valid UTF-8.
  std::string_view text(std::uint64_t size) {
    const std::string_view text = text_of(take(size));
    if (valid_utf8_prefix(text) != text.size()) fail("a string that is not UTF-8");
    return text;
  }

  /// Returns the text before the next '\n'. Throws if it has more than 256 bytes.
  std::string_view line() {
    const std::size_t begin = position_;
    while (number<std::uint8_t>() != '\n') {
      if (position_ - begin > 256) fail("a name of more than 256 bytes");
    }
    return text_of(bytes_.subspan(begin, position_ - 1 - begin));
  }

  /// Throws Error(invalid_file) with the joined parts.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    gpt2::fail(where_, "pickle, byte ", opcode_at_, ": ", parts...);
  }

  /// Throws Error(unsupported) with the joined parts, followed by advice to the user.
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    gpt2::fail(ErrorCode::unsupported, where_, "pickle, byte ", opcode_at_, ": ", parts...,
               "; refused, because no code in a pickle is executed: save the model's state_dict()");
  }

  /// Returns the next `size` bytes.
  Bytes take(std::uint64_t size) {
    const std::size_t left = bytes_.size() - position_;
    if (size > left) fail("the file ends inside the pickle; download it again");
    position_ += static_cast<std::size_t>(size);
    return bytes_.subspan(position_ - static_cast<std::size_t>(size),
                          static_cast<std::size_t>(size));
  }

 private:
  Bytes bytes_;
  std::string_view where_;
  std::size_t position_;
  std::size_t opcode_at_ = 0;
};

using Kind = Pickle::Kind;
using Value = Pickle::Value;
using Values = std::vector<Value*>;

constexpr PickleName kAllowed[] = {
    {"collections OrderedDict", PickleFunction::ordered_dict, {}},
    {"torch Size", PickleFunction::size, {}},
    {"torch._utils _rebuild_tensor", PickleFunction::rebuild_tensor, {}},
    {"torch._utils _rebuild_tensor_v2", PickleFunction::rebuild_tensor, {}},
    {"torch._utils _rebuild_parameter", PickleFunction::rebuild_parameter, {}},
    {"torch FloatStorage", {}, DType::f32},
    {"torch HalfStorage", {}, DType::f16},
    {"torch BFloat16Storage", {}, DType::bf16},
    {"torch DoubleStorage", {}, DType::f64},
    {"torch LongStorage", {}, DType::i64},
    {"torch IntStorage", {}, DType::i32},
    {"torch ShortStorage", {}, DType::i16},
    {"torch CharStorage", {}, DType::i8},
    {"torch ByteStorage", {}, DType::u8},
    {"torch BoolStorage", {}, DType::boolean},
    {"torch.storage UntypedStorage", {}, DType::u8},
};

// A pickle is a program for this stack machine. A step creates at most one value. It copies only
// references: those that it takes off the stack, and a few more. Therefore the limit on the number
// of steps bounds time and memory.
class Machine {
 public:
  Machine(PickleReader& reader, std::deque<Value>& values) : reader_(reader), values_(values) {}

  // Runs up to STOP and returns the value on top of the stack.
  Value* run() {
    for (;;) {
      const std::uint8_t opcode = reader_.opcode();
      if (opcode == kStop) return pop();
      count_step();
      step(opcode);
      if (stack_.size() + marks_.size() > Pickle::kMaxStack) {
        reader_.fail("more than ", Pickle::kMaxStack, " values on the stack");
      }
    }
  }

 private:
  void count_step() {
    if (++steps_ > Pickle::kMaxSteps) reader_.fail("more than ", Pickle::kMaxSteps, " steps");
  }

  // -- The stack ---------------------------------------------------------------------------------

  void push(Value value) { stack_.push_back(&values_.emplace_back(std::move(value))); }
  void push_integer(std::int64_t value) { push({.kind = Kind::integer, .integer = value}); }
  void push_boolean(bool value) { push({.kind = Kind::boolean, .integer = value}); }
  void push_text(std::string_view text) { push({.kind = Kind::text, .text = text}); }
  void push_items(Kind kind, Values items) { push({.kind = kind, .items = std::move(items)}); }
  void push_opaque(std::string_view name, std::string_view module = {}) {
    push({.kind = Kind::opaque, .text = name, .module = module});
  }
  void push_bytes(std::uint64_t size) {
    reader_.take(size);
    push_opaque("bytes");
  }

  void push_long() {
    const auto value = reader_.long1();
    value ? push_integer(*value) : push_opaque("int of more than 64 bits");
  }

  void push_name_of_lines() {
    const std::string_view module = reader_.line();
    push_name(module, reader_.line());
  }

  void push_name_of_stack() {
    const Values names = pop(2);
    push_name(expect(names[0], Kind::text).text, expect(names[1], Kind::text).text);
  }

  void push_name(std::string_view module, std::string_view name) {
    const auto* const found =
        std::ranges::find(kAllowed, concat(module, " ", name), &PickleName::name);
    if (found != std::end(kAllowed)) return push({.kind = Kind::name, .name = found});
    push_opaque(name, module);
  }

  // Returns the number of values above the last mark.
  [[nodiscard]] std::size_t available() const {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back());
  }

  void require(std::size_t count) const {
    if (available() < count) reader_.fail("too few values on the stack");
  }

  Values pop(std::size_t count) {
    require(count);
    Values items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }

  Value* pop() { return pop(1)[0]; }

  Values pop_to_mark() {
    if (marks_.empty()) reader_.fail("no mark on the stack");
    Values items = pop(available());
    marks_.pop_back();
    return items;
  }

  Value& expect(Value* value, Kind kind) const {
    if (value->kind == kind) return *value;
    reader_.fail("found ", name_of(value->kind), "; expected ", name_of(kind));
  }

  // Appends to the list or dict on top of the stack. Does nothing if it is an opaque value.
  void extend(Kind kind, const Values& items) {
    require(1);
    if (stack_.back()->kind == Kind::opaque) return;
    Values& all = expect(stack_.back(), kind).items;
    if (kind == Kind::dict && items.size() % 2 != 0) reader_.fail("a key without a value");
    all.insert(all.end(), items.begin(), items.end());
  }

  // Drops the attributes of a dict, such as _metadata. Remembers those of an opaque value.
  void build() {
    Value* const state = pop();
    require(1);
    if (stack_.back()->kind != Kind::opaque) return extend(Kind::dict, {});
    stack_.back()->items = {state};
  }

  // -- Calls, which are stored as data -----------------------------------------------------------

  void push_call(Kind kind, const Values& arguments, std::size_t min, std::size_t max) {
    if (arguments.size() < min || arguments.size() > max) {
      reader_.fail(name_of(kind), " made of ", arguments.size(), " arguments; expected ", min,
                   " to ", max);
    }
    push_items(kind, arguments);
  }

  void call() {
    const Values& arguments = expect(pop(), Kind::tuple).items;
    Value* const called = pop();
    if (called->kind == Kind::opaque) return push_opaque(called->text, called->module);
    const PickleName& callee = *expect(called, Kind::name).name;
    if (!callee.function) return push_opaque(callee.name);
    switch (*callee.function) {
      case PickleFunction::ordered_dict:
        push_items(Kind::dict, {});
        if (!arguments.empty()) extend_with_pairs(expect(arguments[0], Kind::list).items);
        return;
      case PickleFunction::rebuild_tensor: return push_call(Kind::tensor, arguments, 4, 7);
      case PickleFunction::size:
      case PickleFunction::rebuild_parameter:
        if (arguments.empty()) reader_.fail(callee.name, " without an argument");
        stack_.push_back(arguments[0]);
    }
  }

  // Python 2 wrote OrderedDict([[key, value], ...]).
  void extend_with_pairs(const Values& pairs) {
    for (Value* const pair : pairs) {
      count_step();  // a hostile pickle may use one list many times
      const Values& items = expect(pair, Kind::list).items;
      if (items.size() != 2) reader_.fail("a pair of ", items.size(), " values");
      extend(Kind::dict, items);
    }
  }

  // -- The opcodes -------------------------------------------------------------------------------

  void step(std::uint8_t opcode) {
    switch (opcode) {
      case kNone: return push({});
      case kNewTrue: return push_boolean(true);
      case kNewFalse: return push_boolean(false);
      case kBinInt: return push_integer(static_cast<std::int32_t>(reader_.number<std::uint32_t>()));
      case kBinInt1: return push_integer(reader_.number<std::uint8_t>());
      case kBinInt2: return push_integer(reader_.number<std::uint16_t>());
      case kLong1: return push_long();
      case kBinFloat: reader_.number<std::uint64_t>(); return push({.kind = Kind::real});
      case kBinUnicode: return push_text(reader_.text(reader_.number<std::uint32_t>()));
      case kBinUnicode8: return push_text(reader_.text(reader_.number<std::uint64_t>()));
      case kShortBinString:
      case kShortBinUnicode: return push_text(reader_.text(reader_.number<std::uint8_t>()));
      case kBinBytes: return push_bytes(reader_.number<std::uint32_t>());
      case kShortBinBytes: return push_bytes(reader_.number<std::uint8_t>());
      case kBinBytes8:
      case kByteArray8: return push_bytes(reader_.number<std::uint64_t>());
      case kGlobal: return push_name_of_lines();
      case kStackGlobal: return push_name_of_stack();
      case kBinPersId: return push_call(Kind::storage, expect(pop(), Kind::tuple).items, 5, 6);

      case kProto: return check_protocol(reader_.number<std::uint8_t>());
      case kFrame: reader_.number<std::uint64_t>(); return;
      case kBinPut: return put(reader_.number<std::uint8_t>());
      case kLongBinPut: return put(reader_.number<std::uint32_t>());
      case kMemoize: return put(memo_.size());
      case kBinGet: return get(reader_.number<std::uint8_t>());
      case kLongBinGet: return get(reader_.number<std::uint32_t>());
      default: return step_on_stack(opcode);
    }
  }

  // Takes a step whose opcode has no argument in the file.
  void step_on_stack(std::uint8_t opcode) {
    switch (opcode) {
      case kEmptyTuple: return push_items(Kind::tuple, {});
      case kTuple: return push_items(Kind::tuple, pop_to_mark());
      case kTuple1: return push_items(Kind::tuple, pop(1));
      case kTuple2: return push_items(Kind::tuple, pop(2));
      case kTuple3: return push_items(Kind::tuple, pop(3));
      case kEmptyList:
      case kEmptySet: return push_items(Kind::list, {});
      case kFrozenSet: return push_items(Kind::list, pop_to_mark());
      case kEmptyDict: return push_items(Kind::dict, {});
      case kMark: return marks_.push_back(stack_.size());
      case kAppend: return extend(Kind::list, pop(1));
      case kAppends:
      case kAddItems: return extend(Kind::list, pop_to_mark());
      case kSetItem: return extend(Kind::dict, pop(2));
      case kSetItems: return extend(Kind::dict, pop_to_mark());
      case kBuild: return build();
      case kNewObjEx: pop(); return call();  // without the keyword arguments
      case kReduce:
      case kNewObj: return call();
    }
    const auto letter = static_cast<char>(opcode);  // the notation of pickletools: 'V', '\x9a'
    reader_.refuse("opcode ", quote({&letter, 1}), " is not one of the protocols 2 to 5");
  }

  void check_protocol(unsigned version) {
    if (version >= 2 && version <= 5) return;
    reader_.refuse("pickle protocol ", version, "; expected 2, which is torch.save's, to 5");
  }

  void put(std::size_t slot) {
    require(1);
    if (slot >= Pickle::kMaxMemo) {
      reader_.fail("memo slot ", slot, "; expected fewer than ", Pickle::kMaxMemo);
    }
    if (slot >= memo_.size()) memo_.resize(slot + 1);
    memo_[slot] = stack_.back();
  }

  void get(std::size_t slot) {
    if (slot >= memo_.size() || !memo_[slot]) reader_.fail("memo slot ", slot, " is empty");
    stack_.push_back(memo_[slot]);
  }

  PickleReader& reader_;
  std::deque<Value>& values_;
  Values stack_;
  std::vector<std::size_t> marks_;  // the height of the stack at each open mark
  Values memo_;                     // nullptr: an empty slot
  std::size_t steps_ = 0;
};

}  // namespace

Pickle::Pickle(Bytes bytes, std::size_t begin, std::string_view where) {
  PickleReader reader(bytes, begin, where);
  root = Machine(reader, values).run();
  end = reader.position();
}

const Pickle::Value* Pickle::Value::find(std::string_view key) const {
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i]->kind == Kind::text && items[i]->text == key) return items[i + 1];
  }
  return nullptr;
}

std::string_view name_of(Pickle::Kind kind) noexcept {
  switch (kind) {
    case Pickle::Kind::none: return "None";
    case Pickle::Kind::boolean: return "a bool";
    case Pickle::Kind::integer: return "an int";
    case Pickle::Kind::real: return "a float";
    case Pickle::Kind::text: return "a string";
    case Pickle::Kind::tuple: return "a tuple";
    case Pickle::Kind::list: return "a list";
    case Pickle::Kind::dict: return "a dict";
    case Pickle::Kind::tensor: return "a tensor";
    case Pickle::Kind::storage: return "a storage";
    case Pickle::Kind::name: return "a name";
    case Pickle::Kind::opaque: return "an object";
  }
  __builtin_unreachable();
}

std::string describe(const Pickle::Value& value) {
  if (value.kind != Pickle::Kind::opaque) return std::string(name_of(value.kind));
  return concat("an object of ",
                quote(concat(value.module, value.module.empty() ? "" : ".", value.text)));
}

}  // namespace gpt2
