#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/dtype.h"

namespace gpt2::cli {

using Arguments = std::vector<std::string>;

/// The arguments make no sense: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads the arguments into the options of `app`. Returns false where they ask for help, which is
/// then printed. Throws UsageError.
[[nodiscard]] bool parse(CLI::App& app, Arguments arguments);

/// The name that was probably meant by `word`: one of which it is the beginning, or that differs in
/// no more than a third of its letters; or "".
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> names);

/// Throws UsageError where both options were given.
void refuse_both(const CLI::App& app, const std::string& a, const std::string& b);

/// An option that takes a number from `low` to `high`, in decimal, whatever the locale. Its help
/// ends in the value it has now, the default. For std::size_t, std::uint64_t, int and float.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& value, Number low,
                        Number high, const std::string& help);

/// An option without a value.
CLI::Option* add_switch(CLI::App& app, const std::string& name, bool& value,
                        const std::string& help);

/// -m, --model
CLI::Option* add_model_option(CLI::App& app, std::string& model);

/// The token ids in a text, separated by white space or commas. Throws Error for what is none, or
/// for an id of `count` or more.
[[nodiscard]] std::vector<TokenId> parse_tokens(std::string text, std::size_t count);

/// The same back: "15496 995"
[[nodiscard]] std::string join(std::span<const TokenId> tokens);

/// "f32" ... "int4". Throws UsageError.
[[nodiscard]] WeightType parse_dtype(const std::string& text);

/// --dtype
CLI::Option* add_dtype_option(CLI::App& app, WeightType& dtype);

/// --text
CLI::Option* add_text_option(CLI::App& app, std::string& file);

}  // namespace gpt2::cli
