#include "formats/pickle.h"

#include <string>
#include <utility>

#include "base/quote.h"
#include "gpt2/error.h"

namespace gpt2 {
namespace {

using Kind = Pickle::Kind;
using Ref = Pickle::Ref;
using Value = Pickle::Value;
using Refs = std::vector<Ref>;

// The stack machine that a pickle is a program for. A step makes at most one value and copies,
// beyond what it takes off the stack, no more than a few references: the limit on steps bounds time
// and memory.
class Machine {
 public:
  Machine(PickleReader& reader, std::deque<Value>& values) : reader_(reader), values_(values) {}

  // Runs to STOP and returns what it leaves on top.
  Ref run() {
    for (;;) {
      const std::uint8_t opcode = reader_.opcode();
      if (opcode == kStop) return pop();
      count_step();
      if (!push_scalar(opcode) && !push_container(opcode) && !change(opcode)) {
        reader_.refuse("opcode " + std::string(name_of_refused_opcode(opcode)) +
                       " has no place in a state_dict");
      }
      if (stack_.size() + marks_.size() > Pickle::kMaxStack) {
        reader_.fail("more than " + std::to_string(Pickle::kMaxStack) + " values on the stack");
      }
    }
  }

 private:
  void count_step() {
    if (++steps_ > Pickle::kMaxSteps) {
      reader_.fail("more than " + std::to_string(Pickle::kMaxSteps) + " steps");
    }
  }

  // -- The stack ---------------------------------------------------------------------------------

  void push(Value value) {
    stack_.push_back(static_cast<Ref>(values_.size()));
    values_.push_back(std::move(value));
  }
  void push_integer(std::int64_t value) { push({.kind = Kind::integer, .integer = value}); }
  void push_boolean(bool value) { push({.kind = Kind::boolean, .integer = value}); }
  void push_text(std::string_view text) { push({.kind = Kind::text, .text = text}); }
  void push_items(Kind kind, Refs items) { push({.kind = kind, .items = std::move(items)}); }

  void push_name() {
    const std::string module = reader_.line();
    const std::string name = module + " " + reader_.line();
    const PickleName* const found = find_pickle_name(name);
    if (found == nullptr) reader_.refuse("it refers to " + quote(name) + ", which is not data");
    push({.kind = Kind::name, .name = found});
  }

  // The values above the last mark.
  [[nodiscard]] std::size_t available() const {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back());
  }

  void require(std::size_t count) const {
    if (available() < count) reader_.fail("too few values on the stack");
  }

  Refs pop(std::size_t count) {
    require(count);
    Refs items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }

  Ref pop() {
    require(1);
    const Ref ref = stack_.back();
    stack_.pop_back();
    return ref;
  }

  Refs pop_to_mark() {
    if (marks_.empty()) reader_.fail("no mark on the stack");
    Refs items = pop(available());
    marks_.pop_back();
    return items;
  }

  Value& expect(Ref ref, Kind kind) {
    Value& value = values_[ref];
    if (value.kind == kind) return value;
    reader_.fail("found " + std::string(name_of(value.kind)) + "; expected " +
                 std::string(name_of(kind)));
  }

  // Adds to the list or dict that is left on top.
  void extend(Kind kind, const Refs& items) {
    require(1);
    Refs& all = expect(stack_.back(), kind).items;
    if (kind == Kind::dict && items.size() % 2 != 0) reader_.fail("a key without a value");
    all.insert(all.end(), items.begin(), items.end());
  }

  // -- Calls, which become data ------------------------------------------------------------------

  void push_call(Kind kind, const Refs& arguments, std::size_t least, std::size_t most) {
    if (arguments.size() < least || arguments.size() > most) {
      reader_.fail(std::string(name_of(kind)) + " made of " + std::to_string(arguments.size()) +
                   " arguments; expected " + std::to_string(least) + " to " + std::to_string(most));
    }
    push_items(kind, arguments);
  }

  void call() {
    const Refs& arguments = expect(pop(), Kind::tuple).items;
    const PickleName& callee = *expect(pop(), Kind::name).name;
    if (!callee.function) reader_.refuse("it calls " + quote(callee.name));
    switch (*callee.function) {
      case PickleFunction::ordered_dict:
        push_items(Kind::dict, {});
        if (!arguments.empty()) extend_with_pairs(expect(arguments[0], Kind::list).items);
        return;
      case PickleFunction::rebuild_tensor: return push_call(Kind::tensor, arguments, 4, 7);
      case PickleFunction::size:
      case PickleFunction::rebuild_parameter:
        if (arguments.empty()) reader_.fail(std::string(callee.name) + " without an argument");
        stack_.push_back(arguments[0]);
    }
  }

  // Python 2 wrote OrderedDict([[key, value], ...]).
  void extend_with_pairs(const Refs& pairs) {
    for (const Ref pair : pairs) {
      count_step();  // one list may be used again and again
      const Refs& items = expect(pair, Kind::list).items;
      if (items.size() != 2) reader_.fail("a pair of " + std::to_string(items.size()) + " values");
      extend(Kind::dict, items);
    }
  }

  // -- The opcodes, in three groups; false: in none of them --------------------------------------

  bool push_scalar(std::uint8_t opcode) {
    switch (opcode) {
      case kNone: push({}); break;
      case kNewTrue: push_boolean(true); break;
      case kNewFalse: push_boolean(false); break;
      case kBinInt: push_integer(static_cast<std::int32_t>(reader_.number<std::uint32_t>())); break;
      case kBinInt1: push_integer(reader_.number<std::uint8_t>()); break;
      case kBinInt2: push_integer(reader_.number<std::uint16_t>()); break;
      case kLong1: push_integer(reader_.long1()); break;
      case kBinFloat:
        static_cast<void>(reader_.number<std::uint64_t>());  // nobody asks for its value
        push({.kind = Kind::real});
        break;
      case kBinUnicode: push_text(reader_.text(reader_.number<std::uint32_t>())); break;
      case kShortBinString: push_text(reader_.text(reader_.number<std::uint8_t>())); break;
      case kGlobal: push_name(); break;
      default: return false;
    }
    return true;
  }

  bool push_container(std::uint8_t opcode) {
    switch (opcode) {
      case kEmptyTuple: push_items(Kind::tuple, {}); break;
      case kTuple: push_items(Kind::tuple, pop_to_mark()); break;
      case kTuple1: push_items(Kind::tuple, pop(1)); break;
      case kTuple2: push_items(Kind::tuple, pop(2)); break;
      case kTuple3: push_items(Kind::tuple, pop(3)); break;
      case kEmptyList:
      case kEmptySet: push_items(Kind::list, {}); break;
      case kEmptyDict: push_items(Kind::dict, {}); break;
      case kReduce:
      case kNewObj: call(); break;
      case kBinPersId: push_call(Kind::storage, expect(pop(), Kind::tuple).items, 5, 6); break;
      default: return false;
    }
    return true;
  }

  bool change(std::uint8_t opcode) {
    switch (opcode) {
      case kProto:
        if (const auto version = reader_.number<std::uint8_t>(); version != 2) {
          reader_.refuse("pickle protocol " + std::to_string(version) + " (torch.save's is 2)");
        }
        break;
      case kMark: marks_.push_back(stack_.size()); break;
      case kAppend: extend(Kind::list, pop(1)); break;
      case kAppends: extend(Kind::list, pop_to_mark()); break;
      case kSetItem: extend(Kind::dict, pop(2)); break;
      case kSetItems: extend(Kind::dict, pop_to_mark()); break;
      case kBuild:  // attributes of a dict, such as _metadata: no tensors
        pop();
        extend(Kind::dict, {});
        break;
      case kBinPut: put(reader_.number<std::uint8_t>()); break;
      case kLongBinPut: put(reader_.number<std::uint32_t>()); break;
      case kBinGet: get(reader_.number<std::uint8_t>()); break;
      case kLongBinGet: get(reader_.number<std::uint32_t>()); break;
      default: return false;
    }
    return true;
  }

  void put(std::size_t slot) {
    require(1);
    if (slot >= Pickle::kMaxMemo) {
      reader_.fail("memo slot " + std::to_string(slot) + "; expected fewer than " +
                   std::to_string(Pickle::kMaxMemo));
    }
    if (slot >= memo_.size()) memo_.resize(slot + 1, kEmptySlot);
    memo_[slot] = stack_.back();
  }

  void get(std::size_t slot) {
    if (slot >= memo_.size() || memo_[slot] == kEmptySlot) {
      reader_.fail("memo slot " + std::to_string(slot) + " is empty");
    }
    stack_.push_back(memo_[slot]);
  }

  static constexpr Ref kEmptySlot = ~Ref{0};

  PickleReader& reader_;
  std::deque<Value>& values_;
  Refs stack_;
  std::vector<std::size_t> marks_;  // how high the stack was at each open mark
  Refs memo_;
  std::size_t steps_ = 0;
};

}  // namespace

Pickle::Pickle(std::span<const std::byte> bytes, std::size_t begin, std::string_view where) {
  PickleReader reader(bytes, begin, where);
  root_ = Machine(reader, values_).run();
  end_ = reader.position();
}

const Pickle::Value* Pickle::find(const Value& dict, std::string_view key) const {
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const Value& name = values_[dict.items[i]];
    if (name.kind == Kind::text && name.text == key) return &values_[dict.items[i + 1]];
  }
  return nullptr;
}

std::string_view name_of(Pickle::Kind kind) noexcept {
  switch (kind) {
    case Kind::none: return "None";
    case Kind::boolean: return "a bool";
    case Kind::integer: return "an int";
    case Kind::real: return "a float";
    case Kind::text: return "a string";
    case Kind::tuple: return "a tuple";
    case Kind::list: return "a list";
    case Kind::dict: return "a dict";
    case Kind::tensor: return "a tensor";
    case Kind::storage: return "a storage";
    case Kind::name: return "a name";
  }
  return "";
}

}  // namespace gpt2
