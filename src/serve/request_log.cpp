#include "serve/request_log.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "requests/json_text.h"
#include "base/seconds_since.h"

namespace gpt2::serve {
namespace {

// Returns the time as "2026-01-31T23:59:59.000Z".
std::string time_text(std::chrono::system_clock::time_point time) {
  const auto since_1970 =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = since_1970 / 1000;
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + size, sizeof text - size, ".%03dZ", static_cast<int>(since_1970 % 1000));
  return text;
}

}  // namespace

std::string log_line(const HttpRecord& record) {
  constexpr std::size_t kMaxPath = 200;
  const double microseconds = seconds_since(record.begin) * 1e6;
  const Json json = {{"time", time_text(std::chrono::system_clock::now())},
                    {"id", record.id},
                    {"client", record.client},
                    {"method", record.method.substr(0, kMaxPath)},
                    {"path", record.path.substr(0, kMaxPath)},
                    {"status", record.status},
                    {"complete", record.is_complete},
                    {"seconds", static_cast<double>(static_cast<long>(microseconds)) / 1e6}};
  // In ASCII, because a path may have characters that control a terminal.
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace gpt2::serve
