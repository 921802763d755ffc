#include "formats/safetensors_header.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/quote.h"
#include "formats/tensor_table.h"
#include "gpt2/error.h"

namespace gpt2 {
namespace {

using nlohmann::json;

constexpr JsonLimits kLimits{.max_depth = 127,  // where the reference's JSON reader stops
                             .max_values = kMaxTensors * (kMaxRank + 8)};

// What the next value is part of.
enum class State { outside, header, metadata, tensor, list, ignored };

class HeaderReader final : public JsonHandler {
 public:
  explicit HeaderReader(std::string_view where) : where_(where) {}

  void begin(json::value_t kind) override {
    const bool is_object = kind == json::value_t::object;
    if (state() == State::ignored || (state() == State::tensor && !is_known_field())) {
      state_.push_back(State::ignored);
    } else if (state() == State::outside && is_object) {
      state_.push_back(State::header);
    } else if (state() == State::header && is_object) {
      if (name_ != "__metadata__") begin_tensor();
      state_.push_back(name_ == "__metadata__" ? State::metadata : State::tensor);
    } else if (state() == State::tensor && field_ == "shape" && !is_object) {
      begin_list(shape_);
    } else if (state() == State::tensor && field_ == "data_offsets" && !is_object) {
      begin_list(offsets_);
    } else {
      refuse(is_object ? "an object" : "an array");
    }
  }

  void key(std::string& name) override {
    if (state() == State::header) name_ = std::move(name);
    if (state() == State::tensor) field_ = std::move(name);
  }

  void scalar(json value) override {
    if (state() == State::list && value.is_number_unsigned()) {
      add_number(value.get<std::size_t>());
    } else if (state() == State::tensor && field_ == "dtype" && value.is_string()) {
      set_dtype(value.get_ref<std::string&>());
    } else {
      const bool is_expected =
          state() == State::ignored || (state() == State::tensor && !is_known_field()) ||
          (state() == State::metadata && value.is_string()) ||
          (state() == State::header && name_ == "__metadata__" && value.is_null());
      if (!is_expected)
        refuse(value.is_string() ? quote(value.get_ref<std::string&>()) : value.dump());
    }
  }

  void end() override {
    if (state() == State::tensor) end_tensor();
    state_.pop_back();
  }

  std::vector<SafetensorsEntry> entries;

 private:
  [[nodiscard]] State state() const { return state_.back(); }
  [[nodiscard]] bool is_known_field() const {
    return field_ == "dtype" || field_ == "shape" || field_ == "data_offsets";
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::invalid_file, std::string(where_) + ": " + message);
  }
  [[noreturn]] void fail_in_tensor(const std::string& message) const {
    fail("tensor " + quote(name_) + ": " + message);
  }
  [[noreturn]] void refuse(const std::string& found) const {
    switch (state()) {
      case State::outside: fail("the header is " + found + "; expected an object");
      case State::metadata: fail("__metadata__ holds " + found + "; expected only strings");
      case State::tensor:
        fail_in_tensor(field_ + " is " + found + "; expected " +
                       (field_ == "dtype" ? "a string" : "an array of whole numbers"));
      case State::list: fail_in_tensor(field_ + " holds " + found + "; expected whole numbers");
      default: fail(quote(name_) + " is " + found + "; expected an object");
    }
  }

  void begin_tensor() {
    if (entries.size() == kMaxTensors) {
      fail("more than " + std::to_string(kMaxTensors) + " tensors");
    }
    if (name_.size() > kMaxTensorName) {
      fail_in_tensor("a name of " + std::to_string(name_.size()) + " bytes; expected at most " +
                     std::to_string(kMaxTensorName));
    }
    dtype_.reset();
    shape_.reset();
    offsets_.reset();
  }

  void set_dtype(const std::string& name) {
    if (dtype_) fail_in_tensor("dtype appears twice");
    dtype_ = dtype_named(name);
    if (!dtype_) fail_in_tensor("dtype " + quote(name) + " is not known");
  }

  void begin_list(std::optional<std::vector<std::size_t>>& list) {
    if (list) fail_in_tensor(field_ + " appears twice");
    list_ = &list.emplace();
    state_.push_back(State::list);
  }

  void add_number(std::size_t number) {
    if (list_->size() == kMaxRank) {
      fail_in_tensor(field_ + " has more than " + std::to_string(kMaxRank) + " numbers");
    }
    list_->push_back(number);
  }

  void end_tensor() {
    if (!dtype_) fail_in_tensor("dtype is missing");
    if (!shape_) fail_in_tensor("shape is missing");
    if (!offsets_) fail_in_tensor("data_offsets is missing");
    if (offsets_->size() != 2) {
      fail_in_tensor("data_offsets has " + std::to_string(offsets_->size()) +
                     " numbers; expected begin and end");
    }
    entries.push_back({name_, *dtype_, Shape(*shape_), offsets_->front(), offsets_->back()});
  }

  std::string_view where_;
  std::vector<State> state_ = {State::outside};  // innermost last
  std::string name_;                             // the last key of the header
  std::string field_;                            // the last key of a tensor
  std::optional<DType> dtype_;  // of the tensor being read, as its shape and offsets
  std::optional<std::vector<std::size_t>> shape_;
  std::optional<std::vector<std::size_t>> offsets_;
  std::vector<std::size_t>* list_ = nullptr;  // the one being read
};

}  // namespace

std::vector<SafetensorsEntry> read_safetensors_header(std::string_view json,
                                                      std::string_view where) {
  HeaderReader reader(where);
  read_json(json, where, reader, kLimits);

  std::vector<std::string_view> names;
  for (const SafetensorsEntry& entry : reader.entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    throw Error(ErrorCode::invalid_file,
                std::string(where) + ": tensor " + quote(*twice) + " appears twice in the header");
  }
  return std::move(reader.entries);
}

}  // namespace gpt2
