// Two processes that send each other frames over the links of the UCX transport, for tests and measurements.
//
//   link_driver rank=0 meet=/tmp/x devices=lo frames=1000 bytes=262144 both=1
//   link_driver rank=1 meet=/tmp/x devices=lo frames=1000 bytes=262144 both=1
//
// They find each other by files in the folder `meet`. Rank 0 sends, with both=1 rank 1 too; a frame goes over the next
// link that takes it. The receiver has `slots` places and tells by notes how many of them it has emptied, as the mover
// does. Every frame must come once, with its bytes. Results are lines of "name value"; exit status 1 with a reason.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <poll.h>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "data/transports/ucx_transport.hpp"

namespace crossdock {
namespace {

struct Options {
  transports::PeerIndex rank = 0;
  std::string meet;
  std::vector<std::string> devices;
  uint64_t frames = 0, bytes = 0, slots = 64, notes = 0, note_bytes = 64;
  bool both = false, check = true, until_lost = false, spin = false;
  double idle_s = 0;
  double abandon_s = 0;  // gives a link up from which nothing has come for that long; 0: never
  uint64_t stop_reading_after = 0;  // frames; 0: never
  int64_t under_way = int64_t{8} << 20;
};

[[noreturn]] void give_up(const std::string& why) {
  std::printf("failed %s\n", why.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_s() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct DriverNote {
  // 0: `value` frames of yours are out of their places; 1: I am through; 2: one of many, by number.
  uint64_t kind = 0;
  uint64_t value = 0;
};

class Driver : public transports::LinkEvents {
 public:
  explicit Driver(Options options) : options_(std::move(options)) {
    sends_ = options_.rank == 0 || options_.both;
    receives_ = options_.rank == 1 || options_.both;
    if (!sends_)
      to_send_ = 0;
    else
      to_send_ = options_.frames;
    to_receive_ = receives_ ? options_.frames : 0;
    places_.resize(options_.slots, std::vector<uint64_t>(options_.bytes / 8));
    outgoing_.resize(options_.slots, std::vector<uint64_t>(options_.bytes / 8));
    arrived_.resize(options_.frames);
  }

  void open() {
    transports::UcxSettings settings;
    settings.devices = options_.devices;
    settings.link_bytes_under_way = options_.under_way;
    auto opened = transports::open_ucx_transport(settings);
    if (!opened.ok()) give_up(opened.error().message);
    transport_ = std::move(opened.value());
    exchange_addresses();
    const auto unreached = transport_->connect(addresses_);
    if (!unreached.ok()) give_up(unreached.error().message);
    if (!unreached.value().empty()) give_up(unreached.value().front().why);
    links_ = transport_->links();
    is_up_.assign(links_.size(), true);
    placed_by_link_.resize(links_.size());
    next_note_.resize(links_.size());
    heard_s_.assign(links_.size(), now_s());
    for (transports::Link* link : links_) {
      std::printf("link %s %s %s\n",
                  link->name().c_str(),
                  link->device().c_str(),
                  link->peer_device().c_str());
    }
    std::fflush(stdout);
  }

  void run() {
    if (options_.idle_s > 0) idle();
    const double from_s = now_s(), cpu_from_s = cpu_s();
    bool is_started = false;
    while (!is_through()) {
      if (options_.abandon_s > 0) watch_links();
      const bool sent = send_some();
      if (transport_->progress(*this) == rings::Step::kProgress || sent) {
        is_started = true;
        continue;
      }
      if (!options_.spin) sleep();
    }
    (void)is_started;
    const double took_s = now_s() - from_s;
    const double moved = static_cast<double>((to_send_ + to_receive_) * options_.bytes);
    std::printf("seconds %.4f\nmb_per_s %.2f\ncpu_s %.3f\n",
                took_s,
                moved / took_s / 1e6,
                cpu_s() - cpu_from_s);
    for (size_t i = 0; i < links_.size(); ++i)
      std::printf(
          "placed_by_link_%zu %llu\n", i, static_cast<unsigned long long>(placed_by_link_[i]));
    std::printf("sleeps %llu not_armed %llu\n",
                static_cast<unsigned long long>(sleeps_),
                static_cast<unsigned long long>(not_armed_));
    std::printf("refused %llu\nnotes_received %llu\n",
                static_cast<unsigned long long>(refused_),
                static_cast<unsigned long long>(notes_received_));
    std::fflush(stdout);
  }

  void close() {
    const double from_s = now_s();
    transport_.reset();
    std::printf("close_s %.4f\nok 1\n", now_s() - from_s);
  }

  std::byte* place(transports::LinkIndex link, const rings::SegmentHeader& header) override {
    if (link >= links_.size()) give_up("place: no such link");
    if (header.bytes != options_.bytes) give_up("place: bytes");
    if (header.sequence >= options_.frames || arrived_[header.sequence])
      give_up("place: a frame came twice");
    if (header.sequence >= emptied_ + options_.slots) give_up("place: over the credit");
    if (options_.stop_reading_after != 0 && header.sequence >= options_.stop_reading_after)
      return nullptr;
    return reinterpret_cast<std::byte*>(places_[header.sequence % options_.slots].data());
  }

  void placed(transports::LinkIndex link,
              const rings::SegmentHeader& header,
              std::byte* payload) override {
    const auto& place = places_[header.sequence % options_.slots];
    if (payload != reinterpret_cast<const std::byte*>(place.data())) give_up("placed: elsewhere");
    if (arrived_[header.sequence]) give_up("placed: a frame came twice");
    if (options_.check) {
      for (size_t i = 0; i < place.size(); ++i) {
        if (place[i] != word(1 - options_.rank, header.sequence, i))
          give_up("placed: other bytes than were sent");
      }
    }
    arrived_[header.sequence] = true;
    ++placed_by_link_[link];
    while (emptied_ < options_.frames && arrived_[emptied_]) ++emptied_;
  }

  void noted(transports::LinkIndex link, std::span<const std::byte> bytes) override {
    heard_s_[link] = now_s();
    DriverNote note;
    if (bytes.size() < sizeof note) give_up("noted: bytes");
    std::memcpy(&note, bytes.data(), sizeof note);
    ++notes_received_;
    if (note.kind == 0) credit_ = std::max(credit_, note.value);
    if (note.kind == 1) peer_is_through_ = true;
    if (note.kind == 2) {
      if (note.value < next_note_[link]) give_up("noted: out of order");
      next_note_[link] = note.value + 1;
      ++numbered_notes_;
    }
  }

  void sent(transports::LinkIndex, uint64_t token) override {
    if (token >= sent_) give_up("sent: unknown token");
    ++sent_events_;
  }

  void lost(transports::LinkIndex link, const Error& cause) override {
    if (!is_up_[link]) give_up("lost: reported twice");
    is_up_[link] = false;
    std::printf("lost %u %.4f %s\n", link, now_s(), cause.message.c_str());
    std::fflush(stdout);
  }

 private:
  static uint64_t word(uint64_t rank, uint64_t frame, uint64_t i) {
    return (rank << 60) + frame * 0x9E37'79B9'7F4A'7C15 + i;
  }

  void exchange_addresses() {
    const std::string mine = options_.meet + "/address." + std::to_string(options_.rank);
    std::ofstream(mine + ".part") << transport_->address();
    std::filesystem::rename(mine + ".part", mine);
    addresses_.resize(2);
    const std::string theirs = options_.meet + "/address." + std::to_string(1 - options_.rank);
    for (const double until_s = now_s() + 20; !std::filesystem::exists(theirs);) {
      if (now_s() > until_s) give_up("the other rank did not come");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::ifstream in(theirs);
    addresses_[1 - options_.rank].assign(std::istreambuf_iterator<char>(in), {});
  }

  void idle() {
    const double until_s = now_s() + options_.idle_s, cpu_from_s = cpu_s();
    uint64_t turns = 0;
    for (; now_s() < until_s; ++turns) {
      if (transport_->progress(*this) == rings::Step::kIdle) sleep();
    }
    std::printf("idle_cpu_s %.4f\nidle_turns %llu\n",
                cpu_s() - cpu_from_s,
                static_cast<unsigned long long>(turns));
  }

  void sleep() {
    if (!transport_->arm()) {
      ++not_armed_;
      return;
    }
    ++sleeps_;
    pollfd waited = {transport_->wait_fd(), POLLIN, 0};
    poll(&waited, 1, 200);
  }

  bool tell(const DriverNote& note, size_t bytes) {
    std::vector<std::byte> text(std::max(bytes, sizeof note));
    std::memcpy(text.data(), &note, sizeof note);
    for (size_t tries = 0; tries < links_.size(); ++tries) {
      const size_t i = next_teller_++ % links_.size();
      if (is_up_[i] && links_[i]->tell(text)) return true;
    }
    return false;
  }

  bool send_some() {
    bool any = false;
    if (emptied_ >= noted_emptied_ + options_.slots / 4 ||
        (emptied_ == to_receive_ && noted_emptied_ != emptied_)) {
      if (tell({0, emptied_}, 0)) noted_emptied_ = emptied_, any = true;
    }
    if (sends_ && notes_out_ < options_.notes && tell({2, notes_out_}, options_.note_bytes))
      ++notes_out_, any = true;
    while (sent_ < to_send_ && sent_ < credit_ + options_.slots && put_one()) any = true;
    if (!has_said_through_ && own_work_is_done() && tell({1, 0}, 0)) has_said_through_ = any = true;
    return any;
  }

  // As the mover does: says every now and then that it is there, and gives up a peer that does not.
  void watch_links() {
    const double at_s = now_s();
    if (at_s < next_beat_s_) return;
    next_beat_s_ = at_s + 0.1;
    DriverNote beat = {3, 0};
    for (size_t i = 0; i < links_.size(); ++i) {
      if (is_up_[i]) links_[i]->tell(std::as_bytes(std::span(&beat, 1)));
      if (!is_up_[i] || at_s < heard_s_[i] + options_.abandon_s) continue;
      std::printf("abandon %zu %.4f\n", i, at_s);
      heard_s_[i] = at_s + 3600;
      links_[i]->abandon();
    }
  }

  bool put_one() {
    std::vector<uint64_t>& payload = outgoing_[sent_ % options_.slots];
    rings::SegmentHeader header;
    header.magic = rings::kSegmentMagic;
    header.sequence = sent_;
    header.bytes = static_cast<uint32_t>(options_.bytes);
    if (filled_ == sent_) {
      if (options_.check) {
        for (size_t i = 0; i < payload.size(); ++i) payload[i] = word(options_.rank, sent_, i);
      }
      ++filled_;
    }
    for (size_t tries = 0; tries < links_.size(); ++tries) {
      const size_t i = next_link_++ % links_.size();
      ++sent_;  // a token is known before it can be reported
      if (is_up_[i] && links_[i]->put(header, std::as_bytes(std::span(payload)), sent_ - 1))
        return true;
      --sent_;
      ++refused_;
    }
    return false;
  }

  bool own_work_is_done() const {
    return credit_ >= to_send_ && emptied_ >= to_receive_ && noted_emptied_ >= to_receive_ &&
           (!sends_ || notes_out_ == options_.notes) &&
           (!receives_ || numbered_notes_ == options_.notes);
  }

  bool is_through() const {
    const bool none_is_up = std::none_of(is_up_.begin(), is_up_.end(), [](bool up) { return up; });
    if (none_is_up && options_.until_lost) return true;
    if (none_is_up && !(has_said_through_ && peer_is_through_)) give_up("all links are lost");
    return has_said_through_ && peer_is_through_ && !options_.until_lost;
  }

  Options options_;
  bool sends_ = false, receives_ = false;
  uint64_t to_send_ = 0, to_receive_ = 0;
  std::unique_ptr<transports::Transport> transport_;
  std::vector<std::string> addresses_;
  std::vector<double> heard_s_;
  double next_beat_s_ = 0;
  std::vector<transports::Link*> links_;
  std::vector<bool> is_up_, arrived_;
  std::vector<std::vector<uint64_t>> places_, outgoing_;
  std::vector<uint64_t> placed_by_link_, next_note_;
  uint64_t sent_ = 0, sent_events_ = 0, filled_ = 0, credit_ = 0, emptied_ = 0, noted_emptied_ = 0,
           notes_out_ = 0;
  uint64_t notes_received_ = 0, sleeps_ = 0, not_armed_ = 0, numbered_notes_ = 0, refused_ = 0;
  size_t next_link_ = 0, next_teller_ = 0;
  bool has_said_through_ = false, peer_is_through_ = false;
};

Options parse(int count, char** words) {
  std::map<std::string, std::string> named;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const size_t at = word.find('=');
    if (at == std::string::npos) give_up("not name=value: " + word);
    named[word.substr(0, at)] = word.substr(at + 1);
  }
  Options options;
  const auto number = [&](const char* name, uint64_t otherwise) {
    const auto at = named.find(name);
    return at == named.end() ? otherwise : std::strtoull(at->second.c_str(), nullptr, 10);
  };
  options.rank = static_cast<transports::PeerIndex>(number("rank", 0));
  options.meet = named["meet"];
  std::string name;
  for (const char letter : named["devices"] + ",") {
    if (letter != ',') {
      name += letter;
    } else if (!name.empty()) {
      options.devices.push_back(std::move(name));
      name.clear();
    }
  }
  options.frames = number("frames", 0);
  options.bytes = number("bytes", 0);
  options.slots = number("slots", options.slots);
  options.notes = number("notes", 0);
  options.note_bytes = number("note_bytes", options.note_bytes);
  options.both = number("both", 0) != 0;
  options.check = number("check", 1) != 0;
  options.until_lost = number("until_lost", 0) != 0;
  options.spin = number("spin", 0) != 0;
  options.idle_s = static_cast<double>(number("idle_s", 0));
  options.abandon_s = static_cast<double>(number("abandon_s", 0));
  options.stop_reading_after = number("stop_reading_after", 0);
  options.under_way =
      static_cast<int64_t>(number("under_way", static_cast<uint64_t>(options.under_way)));
  return options;
}

}  // namespace
}  // namespace crossdock

int main(int count, char** words) {
  crossdock::Driver driver(crossdock::parse(count, words));
  driver.open();
  driver.run();
  driver.close();
  return 0;
}
