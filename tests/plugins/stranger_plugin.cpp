// A file with a plugin's name that is none: it does not say which interface it has.
extern "C" [[gnu::visibility("default")]] int crossdock_stranger_double(int value) {
  return 2 * value;
}
