// Names CLI11's class for headers that only pass it on. Reading CLI11 takes a compiler four seconds, so only the files that add flags do.
#pragma once

namespace CLI {
class App;
}
