#include <cstdio>

int main() {
  std::puts("gla-bench");
  return 0;
}
