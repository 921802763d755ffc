#include <algorithm>
#include <cstring>
#include <new>

#include "c_api/guard.h"

namespace gpt2::c_api {
namespace {

// A thread's last error. It is thread-local, so that an error can be reported even if no memory is
// left.
struct LastError {
  gpt2_status status = GPT2_OK;
  char message[1001] = {};
};

thread_local constinit LastError last_error;

// Copies the message without line breaks. If it is too long, truncates it between two characters.
// The message of an exception from a callback may be any bytes, even only UTF-8 continuation bytes.
gpt2_status note(gpt2_status status, const char* message) noexcept {
  std::size_t length = strnlen(message, sizeof last_error.message);
  if (length == sizeof last_error.message) {
    const auto continues = [](char byte) {
      return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80u;
    };
    do {
      --length;
    } while (length > 0 && continues(message[length]));
  }
  last_error.status = status;
  std::memmove(last_error.message, message, length);
  last_error.message[length] = '\0';
  std::replace(last_error.message, last_error.message + length, '\n', ' ');
  return status;
}

gpt2_status status_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::not_found: return GPT2_NOT_FOUND;
    case ErrorCode::invalid_file: return GPT2_INVALID_FILE;
    case ErrorCode::unsupported: return GPT2_UNSUPPORTED;
    case ErrorCode::invalid_argument: return GPT2_INVALID_ARGUMENT;
  }
  return GPT2_INTERNAL;
}

}  // namespace

gpt2_status note_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return note(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return note(GPT2_OUT_OF_MEMORY, "there is not enough memory");
  } catch (const Cancelled&) {
    return note(GPT2_CANCELLED, "cancelled by a callback or a gpt2_cancel");
  } catch (const std::exception& error) {
    return note(GPT2_INTERNAL, error.what());
  } catch (...) {
    return note(GPT2_INTERNAL, "an exception of an unknown type");
  }
}

}  // namespace gpt2::c_api

const char* gpt2_last_error(void) { return gpt2::c_api::last_error.message; }

gpt2_status gpt2_last_status(void) { return gpt2::c_api::last_error.status; }

const char* gpt2_status_name(gpt2_status status) {
  switch (status) {
    case GPT2_OK: return "ok";
    case GPT2_NOT_FOUND: return "not_found";
    case GPT2_INVALID_FILE: return "invalid_file";
    case GPT2_UNSUPPORTED: return "unsupported";
    case GPT2_INVALID_ARGUMENT: return "invalid_argument";
    case GPT2_OUT_OF_MEMORY: return "out_of_memory";
    case GPT2_CANCELLED: return "cancelled";
    case GPT2_INTERNAL: return "internal";
    default: return "unknown";
  }
}
