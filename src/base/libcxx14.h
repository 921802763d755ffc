#pragma once

#include <version>

// Debian's emscripten 3.1.6 has LLVM 14's standard library, in which parts of C++20 are missing.
// This header, which is included before every source, adds those that the project uses. For a newer
// library, it does nothing.

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 15000

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>

namespace std {

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

template <class T>
unique_ptr<T> make_unique_for_overwrite(size_t count) {
  return unique_ptr<T>(new remove_extent_t<T>[count]);
}

// Writes the fewest digits that read back as the same number, in the shorter of two forms: 100,
// 1e+20. One function for both types makes the module smaller.
inline to_chars_result write_number(char* begin, char* end, double value, bool is_float) {
  char scientific[32];
  int length = 0, decimals = 0;
  for (; decimals < 17; ++decimals) {
    length = snprintf(scientific, sizeof scientific, "%.*e", decimals, value);
    const double found = strtod(scientific, nullptr);
    if ((is_float ? static_cast<float>(found) : found) == value) break;
  }
  const char* const exponent = strchr(scientific, 'e');
  if (exponent != nullptr) decimals = max(0, decimals - atoi(exponent + 1));
  const int fixed = snprintf(begin, static_cast<size_t>(end - begin), "%.*f", decimals, value);
  if (fixed <= length) return {begin + fixed, errc()};
  return {std::copy(scientific, scientific + length, begin), errc()};
}
inline to_chars_result to_chars(char* begin, char* end, float value) {
  return write_number(begin, end, value, true);
}
inline to_chars_result to_chars(char* begin, char* end, double value) {
  return write_number(begin, end, value, false);
}

namespace ranges {

// The function of <algorithm> with this name, for a range and arguments.
#define GPT2_RANGE_ALGORITHM(name)                                                           \
  template <class Range, class... Rest>                                                      \
  constexpr auto name(Range&& range, Rest&&... rest) {                                       \
    return std::name(ranges::begin(range), ranges::end(range), std::forward<Rest>(rest)...); \
  }
GPT2_RANGE_ALGORITHM(copy)
GPT2_RANGE_ALGORITHM(fill)
GPT2_RANGE_ALGORITHM(find_if)
GPT2_RANGE_ALGORITHM(for_each)
GPT2_RANGE_ALGORITHM(make_heap)
GPT2_RANGE_ALGORITHM(pop_heap)
GPT2_RANGE_ALGORITHM(push_heap)
GPT2_RANGE_ALGORITHM(replace)
GPT2_RANGE_ALGORITHM(reverse)
GPT2_RANGE_ALGORITHM(sort_heap)
#undef GPT2_RANGE_ALGORITHM

// The same for functions that compare projections.
template <class Compare, class Projection>
auto projected(Compare compare, Projection projection) {
  return [=](const auto& a, const auto& b) {
    return invoke(compare, invoke(projection, a), invoke(projection, b));
  };
}
#define GPT2_RANGE_ALGORITHM(name)                                                              \
  template <class Range, class Compare = less, class Projection = identity>                     \
  constexpr auto name(Range&& range, Compare compare = {}, Projection projection = {}) {        \
    return std::name(ranges::begin(range), ranges::end(range), projected(compare, projection)); \
  }
GPT2_RANGE_ALGORITHM(max_element)
GPT2_RANGE_ALGORITHM(min_element)
GPT2_RANGE_ALGORITHM(sort)
GPT2_RANGE_ALGORITHM(stable_sort)
#undef GPT2_RANGE_ALGORITHM

// The same for predicates.
#define GPT2_RANGE_ALGORITHM(name)                                    \
  template <class Range, class Predicate>                             \
  constexpr auto name(Range&& range, Predicate predicate) {           \
    return std::name(ranges::begin(range), ranges::end(range),        \
                     [&](auto&& x) { return invoke(predicate, x); }); \
  }
GPT2_RANGE_ALGORITHM(all_of)
GPT2_RANGE_ALGORITHM(any_of)
GPT2_RANGE_ALGORITHM(none_of)
GPT2_RANGE_ALGORITHM(count_if)
#undef GPT2_RANGE_ALGORITHM

template <class Range, class Value, class Projection = identity>
constexpr auto find(Range&& range, const Value& value, Projection projection = {}) {
  return std::find_if(ranges::begin(range), ranges::end(range),
                      [&](const auto& x) { return invoke(projection, x) == value; });
}
template <class Range, class Value, class Projection = identity>
constexpr auto count(Range&& range, const Value& value, Projection projection = {}) {
  return std::count_if(ranges::begin(range), ranges::end(range),
                       [&](const auto& x) { return invoke(projection, x) == value; });
}
template <class Range, class Value, class Compare = less, class Projection = identity>
constexpr auto lower_bound(Range&& range, const Value& value, Compare compare = {},
                           Projection projection = {}) {
  return std::lower_bound(
      ranges::begin(range), ranges::end(range), value,
      [&](const auto& x, const Value& v) { return invoke(compare, invoke(projection, x), v); });
}
template <class Range, class Compare = less, class Projection = identity>
constexpr auto min(Range&& range, Compare compare = {}, Projection projection = {}) {
  return *ranges::min_element(range, compare, projection);
}
template <class A, class B>
constexpr bool equal(A&& a, B&& b) {
  return std::equal(ranges::begin(a), ranges::end(a), ranges::begin(b), ranges::end(b));
}
template <class A, class B>
constexpr auto mismatch(A&& a, B&& b) {
  struct {
    decltype(ranges::begin(a)) in1;
    decltype(ranges::begin(b)) in2;
  } found;
  const auto pair =
      std::mismatch(ranges::begin(a), ranges::end(a), ranges::begin(b), ranges::end(b));
  found.in1 = pair.first, found.in2 = pair.second;
  return found;
}
template <class Range, class Out, class Compare>
constexpr auto partial_sort_copy(Range&& range, Out&& out, Compare compare) {
  return std::partial_sort_copy(ranges::begin(range), ranges::end(range), ranges::begin(out),
                                ranges::end(out), compare);
}

}  // namespace ranges
}  // namespace std

#endif
