// The search through all interleavings.
#include "data/rings/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/exhaustive_chance.hpp"
#include "data/rings/fiber.hpp"

namespace crossdock::rings {
namespace {

struct Abandoned {};  // unwinds the fiber of a run that is given up

enum class State : uint8_t { kAtAccess, kIdle, kEnded };

struct Access {
  const uint64_t* word = nullptr;
  bool writes = false;
};

bool independent(const Access& a, const Access& b) {
  return a.word != b.word || (!a.writes && !b.writes);
}

struct Player {
  Fiber* fiber = nullptr;
  Actor* actor = nullptr;
  State state = State::kAtAccess;
  Access next;
};

std::vector<ModelPlace> places_of(const Scene& scene) {
  std::vector<ModelPlace> places = scene.places;
  places.resize(scene.actors.size());
  return places;
}

// One run.
class Run {
 public:
  Run(Scene& scene,
      std::vector<std::unique_ptr<Fiber>>& fibers,
      Chance& chance,
      const ModelOptions& options)
      : chance_(chance),
        memory_(places_of(scene),
                options.stale_loads,
                [&chance](size_t choices) { return chance.pick(choices); }),
        players_(scene.actors.size()),
        sleeps_(options.samples == 0) {
    for (size_t at = 0; at < players_.size(); ++at) {
      players_[at].actor = scene.actors[at].get();
      players_[at].fiber = fibers[at].get();
      players_[at].fiber->start([this, at] { play(players_[at]); });
    }
  }

  // Answers whether the run came to its end; a pruned one has not.
  bool play_all();
  const std::string& failure() const { return failure_; }

  // Called on fibers.
  int thread() const { return static_cast<int>(current_); }
  ModelMemory& memory() { return memory_; }
  void stop_before(Access access) {
    Player& player = players_[current_];
    player.next = access;
    player.state = State::kAtAccess;
    pause(player);
  }

 private:
  void play(Player& player);
  void pause(Player& player) {
    player.fiber->pause();
    if (abandoned_) throw Abandoned{};
  }
  void resume(size_t at);
  void wake();
  void abandon();
  std::vector<size_t> movable() const;
  void deadlock();

  Chance& chance_;
  ModelMemory memory_;
  std::vector<Player> players_;
  bool sleeps_;  // only a search through all choices may leave runs out
  std::vector<bool> asleep_;
  std::string failure_;
  size_t current_ = 0;
  bool abandoned_ = false;
};

Run* running = nullptr;

void Run::play(Player& player) {
  try {
    for (;;) {
      memory_.begin_step(thread());
      const Step answer = player.actor->step();
      if (answer == Step::kDone) break;
      if (answer == Step::kProgress) continue;
      player.state = State::kIdle;
      pause(player);
    }
  } catch (const ModelFailure& broken) {
    if (failure_.empty()) failure_ = broken.what();
  } catch (const Abandoned&) {
  }
  player.state = State::kEnded;
}

void Run::resume(size_t at) {
  current_ = at;
  players_[at].fiber->resume();
}

// Those who were idle for want of something that has come go on to their next access.
void Run::wake() {
  for (size_t at = 0; at < players_.size(); ++at) {
    while (players_[at].state == State::kIdle && memory_.sees_change(static_cast<int>(at)) &&
           failure_.empty()) {
      resume(at);
    }
  }
}

std::vector<size_t> Run::movable() const {
  std::vector<size_t> waiting;
  for (size_t at = 0; at < players_.size(); ++at) {
    if (players_[at].state == State::kAtAccess) waiting.push_back(at);
  }
  return waiting;
}

void Run::deadlock() {
  for (const Player& player : players_) {
    if (player.state == State::kIdle) failure_ += "\n  " + player.actor->state();
  }
  if (!failure_.empty()) failure_ = "deadlock:" + failure_;
}

bool Run::play_all() {
  running = this;
  asleep_.assign(players_.size(), false);
  for (size_t at = 0; at < players_.size() && failure_.empty(); ++at) resume(at);
  bool complete = true;
  while (failure_.empty()) {
    wake();
    const std::vector<size_t> able = movable();
    if (able.empty()) {
      deadlock();
      break;
    }
    std::vector<size_t> awake;
    for (const size_t at : able) {
      if (!asleep_[at]) awake.push_back(at);
    }
    if (awake.empty()) {
      complete = false;
      break;
    }
    const size_t chosen = awake.size() == 1 ? 0 : chance_.pick(awake.size());
    for (size_t before = 0; before < chosen && sleeps_; ++before) asleep_[awake[before]] = true;
    const size_t next = awake[chosen];
    for (size_t at = 0; at < players_.size(); ++at) {
      if (asleep_[at] && !independent(players_[at].next, players_[next].next)) asleep_[at] = false;
    }
    resume(next);
  }
  abandon();
  running = nullptr;
  return complete;
}

void Run::abandon() {
  abandoned_ = true;
  for (size_t at = 0; at < players_.size(); ++at) {
    if (players_[at].fiber->is_running()) resume(at);
  }
}

}  // namespace

namespace {

using Scenes = std::function<Scene()>;
using Fibers = std::vector<std::unique_ptr<Fiber>>;

// One run; its failure, if any, goes into the report.
void run_once(const Scenes& make_scene,
              Fibers& fibers,
              Chance& chance,
              const ModelOptions& options,
              ModelReport& report) {
  Scene scene = make_scene();
  while (fibers.size() < scene.actors.size()) fibers.push_back(std::make_unique<Fiber>());
  Run run(scene, fibers, chance, options);
  const bool complete = run.play_all();
  (complete ? report.runs : report.pruned) += 1;
  report.failure = run.failure();
  if (report.failure.empty() && complete) report.failure = scene.verdict();
}

ModelReport sample(const Scenes& make_scene, const ModelOptions& options) {
  ModelReport report;
  Fibers fibers;
  for (uint64_t seed = 1; seed <= options.samples; ++seed) {
    SeededChance chance(seed);
    run_once(make_scene, fibers, chance, options, report);
    if (report.failure.empty()) continue;
    report.failure += fmt::format("\n  with seed {}", seed);
    return report;
  }
  report.finished = true;
  return report;
}

}  // namespace

ModelReport explore(const std::function<Scene()>& make_scene, const ModelOptions& options) {
  if (options.samples > 0) return sample(make_scene, options);
  ModelReport report;
  ExhaustiveChance chance;
  Fibers fibers;
  do {
    run_once(make_scene, fibers, chance, options, report);
    if (!report.failure.empty()) {
      const uint64_t run = report.runs + report.pruned;
      report.failure +=
          fmt::format("\n  in run {} by the choices {}", run, fmt::join(chance.picks(), " "));
      return report;
    }
    if (report.runs + report.pruned >= options.runs_max) return report;
  } while (chance.next());
  report.finished = true;
  return report;
}

namespace modelled {

uint64_t load(const uint64_t& word, ModelAccess access) {
  if (running == nullptr) return word;
  running->stop_before({&word, false});
  return running->memory().load(running->thread(), &word, access);
}

void store(uint64_t& word, uint64_t value, ModelAccess access) {
  if (running == nullptr) {
    word = value;
    return;
  }
  running->stop_before({&word, true});
  running->memory().store(running->thread(), &word, value, access);
}

uint64_t modify(uint64_t& word,
                ModelAccess access,
                const std::function<uint64_t(uint64_t)>& change) {
  if (running == nullptr) {
    const uint64_t before = word;
    word = change(before);
    return before;
  }
  running->stop_before({&word, true});
  return running->memory().modify(running->thread(), &word, access, change);
}

bool compare_exchange(uint64_t& word, uint64_t& expected, uint64_t desired, ModelAccess success) {
  if (running == nullptr) {
    if (word != expected) {
      expected = word;
      return false;
    }
    word = desired;
    return true;
  }
  running->stop_before({&word, true});
  return running->memory().compare_exchange(running->thread(), &word, expected, desired, success);
}

void plain_read(const void* place) {
  if (running != nullptr) running->memory().plain_read(running->thread(), place);
}

void plain_write(const void* place) {
  if (running != nullptr) running->memory().plain_write(running->thread(), place);
}

void plain_written(uint64_t& word) {
  if (running != nullptr) running->memory().plain_written(running->thread(), &word);
}

void fail(const std::string& text) { throw ModelFailure(text); }

}  // namespace modelled
}  // namespace crossdock::rings
