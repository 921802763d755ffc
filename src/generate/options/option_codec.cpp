#include "generate/options/option_codec.h"

namespace gpt2 {
namespace {

std::string text_of(double number, bool is_whole) {
  if (!is_whole) return concat(number);
  if (number < 0) return concat(static_cast<std::int64_t>(number));
  // The nearest double of the largest whole number is one more than this number.
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  return concat(number < static_cast<double>(kMax) ? static_cast<std::uint64_t>(number) : kMax);
}

template <class Field, class Values>
void check_value(const Field& field, const Values& values) {
  const auto& value = values.*field.member;
  using Codec = OptionCodec<typename Field::Value>;
  if constexpr (requires { Codec::check(field.name, field.range, value); }) {
    Codec::check(field.name, field.range, value);
  }
}

}  // namespace

std::string OptionRange::text(bool is_whole) const {
  const std::string first = also == min ? "" : text_of(also, is_whole) + " or ";
  if (min == max) return first + text_of(min, is_whole);
  return concat(first, is_whole ? "a whole number from " : "a number from ", text_of(min, is_whole),
                " to ", text_of(max, is_whole));
}

void check_options(const SamplingOptions& o, std::size_t vocab_size) {
  for_each_sampling_field([&](const auto& field) {
    check_value(field, o);
    check_ids(field.name, o.*field.member, vocab_size);
  });
  for (const LogitsProcessor& processor : o.processors) {
    if (!processor) reject("processors has an empty function: leave it out");
  }
}

void check_options(const GenerationOptions& o) {
  for_each_generation_field([&](const auto& field) { check_value(field, o); });
}

void check_options(const BeamOptions& o) {
  for_each_beam_field([&](const auto& field) { check_value(field, o); });
  if (o.num_return_sequences <= o.num_beams) return;
  reject("num_return_sequences must be at most num_beams, which is ", o.num_beams, ", got ",
         o.num_return_sequences);
}

}  // namespace gpt2
