// Uses every function and stream that the library must not use. guest_symbols_test.cmake must find
// all of them in this file, which is compiled but never linked or run.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>

void prints(const char* text) {
  std::cout << text;
  std::cerr << text;
  std::clog << text;
  std::fputs(text, stdout);
  std::fputs(text, stderr);
  std::puts(text);
  std::perror(text);
  if (write(1, text, 1) != 1) return;
}

int reads(char* line) {
  std::cin >> *line;
  return std::ungetc(*line, stdin);
}

void ends(int how) {
  switch (how) {
    case 0: std::exit(1);
    case 1: _exit(1);
    case 2: std::quick_exit(1);
    case 3: std::abort();
    default: std::terminate();
  }
}

void handles(void handler(int)) {
  std::signal(SIGINT, handler);
  sigaction(SIGTERM, nullptr, nullptr);
  std::raise(SIGINT);
  std::atexit(std::abort);
  std::set_terminate(std::abort);
}
