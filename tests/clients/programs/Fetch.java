// SPDX-License-Identifier: Apache-2.0
// GETs each URL with java.net.http (NIO underneath), or POSTs to those after the word POST; prints "STATUS BODY" or the error.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

public class Fetch {
    public static void main(String[] urls) throws Exception {
        HttpClient client = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(20)).build();
        String method = "GET";
        for (String url : urls) {
            if (!url.contains(":")) {
                method = url;
                continue;
            }
            try {
                HttpRequest.BodyPublisher body = method.equals("GET") ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString("x");
                HttpResponse<String> answer = client.send(HttpRequest.newBuilder(URI.create(url)).method(method, body).build(), HttpResponse.BodyHandlers.ofString());
                System.out.println(answer.statusCode() + " " + answer.body());
            } catch (java.io.IOException e) {
                System.out.println("error: " + e);
                System.exit(1);
            }
        }
    }
}
